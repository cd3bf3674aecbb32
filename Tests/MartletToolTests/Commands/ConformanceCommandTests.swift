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

    @Test func `a program in a folder bin -> the kit in the folder share beside it`() {
        let kit = ConformanceCommand.kit(of: "/usr/local/bin/martlet")
        #expect(kit == "/usr/local/share/martlet/martlet-conformance.pyz")
    }

    @Test func `no kit -> an error that names the path`() {
        let error = ConformanceCommand.run([], kit: "/no/such/kit.pyz")
        #expect(error == CommandError(.noInput, "cannot read /no/such/kit.pyz: No such file or directory"))
    }
}
