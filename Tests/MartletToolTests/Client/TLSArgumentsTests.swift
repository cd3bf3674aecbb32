import MartletToolSupport
import MartletTransport
import Testing

@testable import MartletTool

/// The TLS options of `serve` and of clients.
@Suite struct TLSArgumentsTests {
    private static let pins = [String(repeating: "ab", count: 32), String(repeating: "cd", count: 32)]

    private func parse(_ words: [String], for spec: CommandSpec = ServeCommand.spec) throws -> ParsedArguments {
        var parser = ArgumentParser(for: spec)
        guard case .run(let arguments) = try parser.parse(words) else { throw UsageError(message: "help") }
        return arguments
    }

    // MARK: A relay

    // C-73
    @Test func `an authority of clients -> optional certificates; with the requirement -> required ones`() throws {
        let identity = ["--certificate", "a.pem", "--key", "a.key"]
        let usual = try #require(try TLSArguments.server(parse(identity)))
        #expect(usual.clientCertificates == .ignored && usual.ticketKeyFile == nil)
        let accepting = identity + ["--client-ca", "ca.pem", "--ticket-keys", "keys"]
        let optional = try #require(try TLSArguments.server(parse(accepting)))
        #expect(optional.clientCertificates == .optional(trustFile: "ca.pem") && optional.ticketKeyFile == "keys")
        let requiring = accepting + ["--require-client-certificate"]
        let required = try #require(try TLSArguments.server(parse(requiring)))
        #expect(required.clientCertificates == .required(trustFile: "ca.pem"))
        #expect(required.identity == TLSIdentity(certificateFile: "a.pem", keyFile: "a.key"))
    }

    @Test func `no certificate -> no TLS`() throws {
        #expect(try TLSArguments.server(parse([])) == nil)
    }

    @Test(arguments: [
        ["--certificate", "a.pem"], ["--key", "a.key"], ["--client-ca", "ca.pem"], ["--ticket-keys", "keys"],
    ])
    func `a certificate without its key, or an option that requires both -> a usage error`(words: [String]) throws {
        let arguments = try parse(words)
        #expect(throws: UsageError.self) { try TLSArguments.server(arguments) }
    }

    // MARK: Clients

    @Test func `no option, a file, two pins -> the certificates of the system, of the file, with these keys`() throws {
        func trust(_ words: [String]) throws -> TLSClientOptions.Trust {
            try TLSArguments.client(parse(words, for: SendCommand.spec)).trust
        }
        #expect(try trust([]) == .system)
        #expect(try trust(["--trust", "ca.pem"]) == .file("ca.pem"))
        let pins = try Self.pins.map { try #require(TLSPin(hexadecimal: $0)) }
        let words = ["--pin", Self.pins[0], "--pin", Self.pins[1]]
        #expect(try trust(words) == .pins(pins[0], backup: pins[1]))
    }

    @Test(arguments: [
        ["--pin", pins[0]], ["--pin", pins[0], "--pin", "ab"],
        ["--pin", pins[0], "--pin", pins[1], "--pin", String(repeating: "ef", count: 32)],
        ["--pin", pins[0], "--pin", pins[1], "--trust", "ca.pem"],
    ])
    func `one pin, three, an invalid one, or pins beside a file -> a usage error`(words: [String]) throws {
        let arguments = try parse(words, for: SendCommand.spec)
        #expect(throws: UsageError.self) { try TLSArguments.client(arguments) }
    }
}
