import Foundation
import MartletToolSupport
import Testing

@testable import MartletTool

@Suite struct ConformanceCommandTests {
    @Test func `options -> the same options for the program in Python, texts first`() throws {
        var parser = ArgumentParser(for: ConformanceCommand.spec)
        let outcome = try parser.parse(["--tls", "--account", "a:b", "--relay=[::1]:7227", "--account", "c:d"])
        guard case .run(let arguments) = outcome else { throw UsageError(message: "help") }
        let words = ["--relay", "[::1]:7227", "--account", "a:b", "--account", "c:d", "--tls"]
        #expect(ConformanceCommand.words(arguments) == words)
    }

    @Test func `options of the command -> those of the program in Python`() throws {
        var folder = URL(fileURLWithPath: #filePath)
        for _ in 0..<4 { folder.deleteLastPathComponent() }
        let path = folder.appendingPathComponent("Specs/conformance/program.py").path
        let program = try String(contentsOfFile: path, encoding: .utf8)
        let names = program.matches(of: /add_argument\("--([a-z]+)"/).map { String($0.1) }
        #expect(names.sorted() == ConformanceCommand.spec.options.map(\.name).sorted())
    }

    @Test func `a program in a folder bin -> the kit in the folder share beside it`() {
        let kit = ConformanceCommand.kit(of: "/usr/local/bin/martlet")
        #expect(kit == "/usr/local/share/martlet/martlet-conformance.pyz")
    }

    @Test func `no kit -> an error that names the path and the command that makes it`() {
        let error = ConformanceCommand.run([], kit: "/no/such/kit.pyz")
        let lines = error.message.split(separator: "\n")
        #expect(error.code == .noInput)
        #expect(lines.first == "cannot read /no/such/kit.pyz: No such file or directory")
        #expect(lines.last?.hasSuffix("'Scripts/build-conformance /no/such/kit.pyz'.") == true)
    }
}
