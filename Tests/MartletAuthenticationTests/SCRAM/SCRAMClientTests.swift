import Testing

@testable import MartletAuthentication

@Suite struct SCRAMClientTests {
    private static let nonce = SCRAMVector.clientNonce + SCRAMVector.serverNonce
    private static let salt = "W22ZaJ0SNY7soEsUEjb6gQ=="

    private func answering(_ serverFirst: String) throws -> (client: SCRAMClient, answer: String) {
        var client = try SCRAMVector.startedClient()
        let answer = try client.receive(serverFirst: Array(serverFirst.utf8))
        return (client, String(decoding: answer, as: UTF8.self))
    }

    // RFC 7677 §3
    @Test func `the client sends the messages of RFC 7677 and accepts those of its server`() throws {
        var client = try SCRAMVector.client()
        #expect(client.start() == Array(SCRAMVector.clientFirst.utf8))
        #expect(
            try client.receive(serverFirst: Array(SCRAMVector.serverFirst.utf8)) == Array(SCRAMVector.clientFinal.utf8))
        #expect(!client.isFinished)
        try client.receive(serverFinal: Array(SCRAMVector.serverFinal.utf8))
        #expect(client.isFinished)
    }

    // C-70
    @Test func `the expected last message of the server is known from the client's last message on`() throws {
        var client = try SCRAMVector.startedClient()
        #expect(client.expectedServerFinal == nil)
        _ = try client.receive(serverFirst: Array(SCRAMVector.serverFirst.utf8))
        #expect(client.expectedServerFinal == Array(SCRAMVector.serverFinal.utf8))
        try client.receive(serverFinal: Array(SCRAMVector.serverFinal.utf8))
        #expect(client.expectedServerFinal == nil)
    }

    @Test func `the first message contains the escaped name, the nonce in base64 and the GS2 header`() throws {
        let nonce = [UInt8](repeating: 0, count: 18)
        for (binding, header) in [
            (ChannelBinding.none, "n,,"), (.unsupportedByServer, "y,,"),
            (.tlsExporter(SCRAMExchange.exporter), "p=tls-exporter,,"),
        ] {
            var client = try SCRAMClient(userName: "a,b=c", password: "p", nonce: nonce, channelBinding: binding)
            #expect(client.start() == Array("\(header)n=a=2Cb=3Dc,r=AAAAAAAAAAAAAAAAAAAAAAAA".utf8))
        }
    }

    @Test(arguments: [0, 17, 129])
    func `a nonce with fewer than 18 or more than 128 bytes is refused`(_ count: Int) {
        #expect(throws: SCRAMError.invalidNonce) {
            try SCRAMClient(
                userName: "user", password: "pencil", nonce: Array(repeating: 1, count: count), channelBinding: .none)
        }
    }

    @Test func `an invalid name or password is refused`() {
        #expect(throws: SCRAMError.invalidUserName) {
            try SCRAMClient(
                userName: "a\nb", password: "p", nonce: Array(repeating: 1, count: 18), channelBinding: .none)
        }
        #expect(throws: SCRAMError.invalidPassword) { try SCRAMVector.client(password: "a\tb") }
    }

    @Test(
        arguments: [
            ("", .malformedMessage),
            ("x", .malformedMessage),
            ("s=\(salt),i=4096", .missingAttribute(.nonce)),
            ("r=\(nonce),i=4096", .missingAttribute(.salt)),
            ("r=\(nonce),s=\(salt)", .missingAttribute(.iterationCount)),
            ("s=\(salt),r=\(nonce),i=4096", .missingAttribute(.nonce)),
            ("r=\(nonce),i=4096,s=\(salt)", .missingAttribute(.salt)),
            ("m=1,r=\(nonce),s=\(salt),i=4096", .mandatoryExtension),
            ("r=\(nonce),s=\(salt),i=4096,m=1", .mandatoryExtension),
            ("r=\(nonce),s=W22ZaJ0SNY7soEsUEjb6gQ=,i=4096", .invalidAttribute(.salt)),
            ("r=\(nonce),s=W22Z*J0SNY7soEsUEjb6gQ==,i=4096", .invalidAttribute(.salt)),
            ("r=\(nonce),s=,i=4096", .invalidAttribute(.salt)),
            ("r=,s=\(salt),i=4096", .invalidAttribute(.nonce)),
            ("r=\(nonce) ,s=\(salt),i=4096", .invalidAttribute(.nonce)),
            ("r=\(nonce)\u{E9},s=\(salt),i=4096", .invalidAttribute(.nonce)),
            ("r=\(nonce),s=\(salt),i=", .invalidAttribute(.iterationCount)),
            ("r=\(nonce),s=\(salt),i=+4096", .invalidAttribute(.iterationCount)),
            ("r=\(nonce),s=\(salt),i=04096", .invalidAttribute(.iterationCount)),
            ("r=\(nonce),s=\(salt),i=4096 ", .invalidAttribute(.iterationCount)),
            ("r=\(nonce),s=\(salt),i=4096,", .malformedMessage),
            ("r=\(nonce),s=\(salt),i=4096,i=4096", .malformedMessage),
            ("r=\(nonce),s=\(salt),i=4096,x=", .malformedMessage),
            ("r=\(nonce),s=\(salt),i=4096,7=x", .malformedMessage),
            ("e=other-error", .missingAttribute(.nonce)),
        ] as [(String, SCRAMError)])
    func `a malformed first message of the server is refused`(_ message: String, _ error: SCRAMError) {
        #expect(throws: error) { try answering(message) }
    }

    @Test(
        arguments: [
            SCRAMVector.clientNonce, SCRAMVector.serverNonce, "x" + nonce, String(SCRAMVector.clientNonce.dropLast()),
            SCRAMVector.clientNonce.lowercased() + "x",
        ])
    func `a nonce that does not extend the client's is refused`(_ nonce: String) {
        #expect(throws: SCRAMError.nonceMismatch) { try answering("r=\(nonce),s=\(Self.salt),i=4096") }
    }

    @Test(arguments: ["1", "4095", "1000001", "4294967296", "99999999999999999999999999"])
    func `an iteration count outside of 4096 to 1,000,000 is refused`(_ count: String) {
        #expect(throws: SCRAMError.iterationCountOutOfBounds) {
            try answering("r=\(Self.nonce),s=\(Self.salt),i=\(count)")
        }
    }

    @Test func `a message of 4096 bytes is accepted and one more is refused`() throws {
        let start = SCRAMVector.serverFirst + ",x="
        let room = SCRAMLimits.maxMessageByteCount - start.utf8.count
        _ = try answering(start + String(repeating: "y", count: room))
        #expect(throws: SCRAMError.oversizedMessage) { try answering(start + String(repeating: "y", count: room + 1)) }
    }

    @Test func `a nonce of 1024 bytes is accepted and one more is refused`() throws {
        let filler = String(repeating: "n", count: SCRAMLimits.maxNonceTextByteCount - Self.nonce.utf8.count)
        _ = try answering("r=\(Self.nonce)\(filler),s=\(Self.salt),i=4096")
        #expect(throws: SCRAMError.invalidAttribute(.nonce)) {
            try answering("r=\(Self.nonce)\(filler)n,s=\(Self.salt),i=4096")
        }
    }

    @Test func `an optional extension is covered by the proof and otherwise ignored`() throws {
        let (_, answer) = try answering(SCRAMVector.serverFirst + ",x=future")
        #expect(answer.hasPrefix("c=biws,r=\(Self.nonce),p="))
        #expect(answer != SCRAMVector.clientFinal)
    }

    @Test func `a wrong signature of the server is refused`() throws {
        var (client, _) = try answering(SCRAMVector.serverFirst)
        let signature = Base64.encode([UInt8](repeating: 0, count: 32), .standard)
        #expect(throws: SCRAMError.invalidServerSignature) {
            try client.receive(serverFinal: Array("v=\(signature)".utf8))
        }
        #expect(!client.isFinished)
    }

    @Test(
        arguments: [
            ("", .malformedMessage),
            ("v=", .invalidAttribute(.verifier)),
            ("v=AAAA", .invalidAttribute(.verifier)),
            ("v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4", .invalidAttribute(.verifier)),
            ("p=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=", .missingAttribute(.verifier)),
            ("m=1,v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=", .mandatoryExtension),
            ("v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=,e=other-error", .malformedMessage),
            ("e=", .invalidAttribute(.serverError)),
            ("e=a\u{1B}[2J", .invalidAttribute(.serverError)),
            ("e=channel-bindings-dont-match", .refusedByServer("channel-bindings-dont-match")),
            ("v=" + String(repeating: "A", count: 4095), .oversizedMessage),
        ] as [(String, SCRAMError)])
    func `a malformed final message or an error of the server is refused`(
        _ message: String, _ error: SCRAMError
    ) throws {
        var (client, _) = try answering(SCRAMVector.serverFirst)
        #expect(throws: error) { try client.receive(serverFinal: Array(message.utf8)) }
        #expect(!client.isFinished)
    }

    @Test func `events in the wrong state fail the exchange for good`() throws {
        let (first, final) = (Array(SCRAMVector.serverFirst.utf8), Array(SCRAMVector.serverFinal.utf8))
        var fresh = try SCRAMVector.client()
        #expect(throws: SCRAMError.unexpectedEvent) { try fresh.receive(serverFirst: first) }
        var started = try SCRAMVector.startedClient()
        #expect(throws: SCRAMError.unexpectedEvent) { try started.receive(serverFinal: final) }
        #expect(throws: SCRAMError.unexpectedEvent) { try started.receive(serverFirst: first) }
        var (answered, _) = try answering(SCRAMVector.serverFirst)
        #expect(throws: SCRAMError.unexpectedEvent) { try answered.receive(serverFirst: first) }
        #expect(throws: SCRAMError.unexpectedEvent) { try answered.receive(serverFinal: final) }
        #expect(!answered.isFinished)
    }

    @Test func `another message after the last one fails the exchange`() throws {
        var (client, _) = try answering(SCRAMVector.serverFirst)
        try client.receive(serverFinal: Array(SCRAMVector.serverFinal.utf8))
        #expect(throws: SCRAMError.unexpectedEvent) {
            try client.receive(serverFinal: Array(SCRAMVector.serverFinal.utf8))
        }
        #expect(!client.isFinished)
    }

    @Test func `a message after a failure is refused, although it is correct`() throws {
        var client = try SCRAMVector.startedClient()
        #expect(throws: SCRAMError.malformedMessage) { try client.receive(serverFirst: []) }
        #expect(throws: SCRAMError.unexpectedEvent) {
            try client.receive(serverFirst: Array(SCRAMVector.serverFirst.utf8))
        }
    }

    @Test func `starting twice traps`() async {
        await #expect(processExitsWith: .failure) {
            var client = try SCRAMVector.client()
            _ = client.start()
            _ = client.start()
        }
    }
}
