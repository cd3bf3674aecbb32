import Foundation
import MartletToolSupport
import Testing

@testable import MartletTool

@Suite struct TelemetryArgumentsTests {
    private func check(_ words: String...) throws {
        var parser = ArgumentParser(for: ServeCommand.spec)
        guard case .run(let arguments) = try parser.parse(words) else { throw UsageError(message: "help") }
        try TelemetryArguments.check(arguments)
    }

    private func message(_ body: () throws -> Void) -> String? {
        do {
            try body()
            return nil
        } catch { return (error as? UsageError)?.message ?? "\(error)" }
    }

    @Test func `an address and a spool → valid; one without the other → a usage error`() {
        let url = "http://127.0.0.1:8086/write?db=app"
        #expect(message { try check() } == nil)
        #expect(message { try check("--telemetry", url, "--telemetry-spool", "x") } == nil)
        #expect(message { try check("--telemetry", url) } == "'--telemetry' requires '--telemetry-spool'")
        for option in ["token", "spool", "spool-size"] {
            let name = "--telemetry-\(option)"
            #expect(message { try check(name, "2M") } == "'\(name)' requires '--telemetry'")
        }
    }

    @Test func `an address that is not valid → a usage error that says so`() {
        let plain = "'--telemetry': influx requires https: http is for loopback addresses only"
        #expect(message { try check("--telemetry", "http://influx/write?db=a", "--telemetry-spool", "x") } == plain)
        let other = "'--telemetry': \"https://influx/write\" is not an address such as https://HOST/write?db=NAME"
        #expect(message { try check("--telemetry", "https://influx/write", "--telemetry-spool", "x") } == other)
    }

    @Test func `a spool that is a file, or in a missing folder → an error; one to be created → valid`() throws {
        let url = "http://127.0.0.1:8086/write?db=app"
        let path = NSTemporaryDirectory() + "martlet-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: path) }
        func fault() -> String? { message { try check("--telemetry", url, "--telemetry-spool", "\(path)/spool") } }
        #expect(fault()?.contains("cannot write the points in \(path): No such file") == true)
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        #expect(fault() == nil)
        try Data().write(to: URL(filePath: "\(path)/spool"))
        #expect(fault()?.contains("cannot write the points in \(path)/spool: it is not a folder") == true)
    }

    @Test func `the token is the first line of its file; another text or a missing file → an error`() throws {
        let path = NSTemporaryDirectory() + "martlet-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: path) }
        func isValid(_ text: String?) throws -> Bool {
            if let text { try Data(text.utf8).write(to: URL(filePath: path)) }
            let url = "https://influx/api/v2/write?org=a&bucket=b"
            return message {
                try check("--telemetry", url, "--telemetry-spool", "x", "--telemetry-token", path)
            } == nil
        }
        #expect(try !isValid(nil))
        #expect(try isValid("secret\nmore") && isValid("user:word\r\n"))
        #expect(try !isValid("") && !isValid("two words") && !isValid("\nsecret"))
    }
}
