import Testing

@testable import MartletAuthentication

@Suite struct SCRAMServerTests {
    private static let nonce = SCRAMVector.clientNonce + SCRAMVector.serverNonce
    private static let proof = "dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="

    private func requested(_ clientFirst: String, binding: SCRAMServer.BindingPolicy = .none) throws -> String {
        var server = try SCRAMVector.server(binding: binding)
        return try server.receive(clientFirst: Array(clientFirst.utf8))
    }

    private func concluded(_ clientFinal: String) throws -> String {
        var server = try SCRAMVector.challengingServer()
        return String(decoding: try server.receive(clientFinal: Array(clientFinal.utf8)), as: UTF8.self)
    }

    // RFC 7677 §3
    @Test func `the server sends the messages of RFC 7677 and accepts those of its client`() throws {
        var server = try SCRAMVector.server()
        #expect(try server.receive(clientFirst: Array(SCRAMVector.clientFirst.utf8)) == "user")
        #expect(try server.challenge(with: .sample) == Array(SCRAMVector.serverFirst.utf8))
        #expect(server.authenticatedName == nil)
        #expect(
            try server.receive(clientFinal: Array(SCRAMVector.clientFinal.utf8)) == Array(SCRAMVector.serverFinal.utf8))
        #expect(server.authenticatedName == "user")
    }

    @Test(arguments: [0, 17, 129])
    func `a nonce with fewer than 18 or more than 128 bytes is refused`(_ count: Int) {
        #expect(throws: SCRAMError.invalidNonce) {
            try SCRAMServer(nonce: Array(repeating: 1, count: count), binding: .none, unknownUsers: .sample)
        }
    }

    @Test(arguments: [("a=2Cb", "a,b"), ("a=3Db", "a=b"), ("Zoë", "Zoë"), ("a b", "a b")])
    func `the wanted name is unescaped`(_ escaped: String, _ name: String) throws {
        #expect(try requested("n,,n=\(escaped),r=abc") == name)
    }

    @Test func `an optional extension in the first message is ignored`() throws {
        #expect(try requested("n,,n=user,r=abc,x=1,Y=2=3") == "user")
    }

    @Test(
        arguments: [
            ("", .malformedHeader),
            ("n,", .malformedHeader),
            ("n=user,r=abc", .malformedHeader),
            (",,n=user,r=abc", .malformedHeader),
            ("N,,n=user,r=abc", .malformedHeader),
            ("z,,n=user,r=abc", .malformedHeader),
            ("F,n,,n=user,r=abc", .malformedHeader),
            ("p,,n=user,r=abc", .malformedHeader),
            ("p=,,n=user,r=abc", .malformedHeader),
            ("p=tls_exporter,,n=user,r=abc", .malformedHeader),
            ("n,x,n=user,r=abc", .malformedHeader),
            ("n,a=admin,n=user,r=abc", .authorizationIdentity),
            ("n,,", .malformedMessage),
            ("n,,user", .malformedMessage),
            ("n,,r=abc", .missingAttribute(.userName)),
            ("n,,n=user", .missingAttribute(.nonce)),
            ("n,,r=abc,n=user", .missingAttribute(.userName)),
            ("n,,m=1,n=user,r=abc", .mandatoryExtension),
            ("n,,n=user,r=abc,m=1", .mandatoryExtension),
            ("n,,n=,r=abc", .invalidAttribute(.userName)),
            ("n,,n=us=er,r=abc", .invalidAttribute(.userName)),
            ("n,,n=us\u{7}er,r=abc", .invalidUserName),
            ("n,,n=user,r=", .invalidAttribute(.nonce)),
            ("n,,n=user,r=a c", .invalidAttribute(.nonce)),
            ("n,,n=user,r=abc,r=abc", .malformedMessage),
            ("n,,n=user,r=abc,", .malformedMessage),
            ("n,,n=user,r=abc,x=\0", .malformedMessage),
        ] as [(String, SCRAMError)])
    func `a malformed first message of the client is refused`(_ message: String, _ error: SCRAMError) {
        #expect(throws: error) { try requested(message) }
    }

    @Test func `a message of 4096 bytes is accepted and one more is refused`() throws {
        let start = "n,,n=user,r=abc,x="
        let room = SCRAMLimits.maxMessageByteCount - start.utf8.count
        #expect(try requested(start + String(repeating: "y", count: room)) == "user")
        #expect(throws: SCRAMError.oversizedMessage) { try requested(start + String(repeating: "y", count: room + 1)) }
    }

    @Test func `nonces that have more than 1024 bytes together are refused`() throws {
        let room = SCRAMLimits.maxNonceTextByteCount - SCRAMVector.serverNonce.utf8.count
        _ = try requested("n,,n=user,r=" + String(repeating: "n", count: room))
        #expect(throws: SCRAMError.invalidAttribute(.nonce)) {
            try requested("n,,n=user,r=" + String(repeating: "n", count: room + 1))
        }
    }

    // RFC 5802 §6
    @Test func `a server that requires a channel binding refuses the flag y as a downgrade`() {
        #expect(throws: SCRAMError.channelBindingDowngrade) {
            try requested("y,,n=user,r=abc", binding: .required(exporter: SCRAMExchange.exporter))
        }
    }

    @Test func `a server that requires a channel binding refuses the flag n`() {
        #expect(throws: SCRAMError.channelBindingRequired) {
            try requested("n,,n=user,r=abc", binding: .required(exporter: SCRAMExchange.exporter))
        }
    }

    @Test(arguments: ["tls-unique", "tls-server-end-point", "tls-exporte", "TLS-EXPORTER"])
    func `a server that requires tls-exporter refuses another channel binding`(_ name: String) {
        #expect(throws: SCRAMError.unsupportedChannelBinding) {
            try requested("p=\(name),,n=user,r=abc", binding: .required(exporter: SCRAMExchange.exporter))
        }
    }

    @Test func `a server without TLS refuses tls-exporter and accepts the flags n and y`() throws {
        #expect(throws: SCRAMError.unsupportedChannelBinding) { try requested("p=tls-exporter,,n=user,r=abc") }
        #expect(try requested("n,,n=user,r=abc") == "user")
        #expect(try requested("y,,n=user,r=abc") == "user")
    }

    @Test(
        arguments: [
            ("", .malformedMessage),
            ("c=biws,r=\(nonce)", .missingAttribute(.proof)),
            ("c=biws,p=\(proof)", .missingAttribute(.nonce)),
            ("r=\(nonce),p=\(proof)", .missingAttribute(.channelBinding)),
            ("p=\(proof)", .malformedMessage),
            ("r=\(nonce),c=biws,p=\(proof)", .missingAttribute(.channelBinding)),
            ("c=biws,p=\(proof),r=\(nonce)", .missingAttribute(.proof)),
            ("c=biws,r=\(nonce),p=\(proof),x=1", .missingAttribute(.proof)),
            ("m=1,c=biws,r=\(nonce),p=\(proof)", .mandatoryExtension),
            ("c=biws,r=\(nonce),m=1,p=\(proof)", .mandatoryExtension),
            ("c=bi*s,r=\(nonce),p=\(proof)", .invalidAttribute(.channelBinding)),
            ("c=,r=\(nonce),p=\(proof)", .invalidAttribute(.channelBinding)),
            ("c=biws,r=\(nonce),p=", .invalidAttribute(.proof)),
            ("c=biws,r=\(nonce),p=\(proof.dropLast())", .invalidAttribute(.proof)),
            ("c=biws,r=\(nonce),p=AAAA", .invalidAttribute(.proof)),
            ("c=biws,r=\(nonce),p=\(String(repeating: "A", count: 44))", .invalidAttribute(.proof)),
            ("c=biws,r=\(nonce),c=biws,p=\(proof)", .malformedMessage),
            ("c=biws,r=\(nonce),,p=\(proof)", .malformedMessage),
            ("c=biws,r=\(nonce),x=\(String(repeating: "y", count: 4096)),p=\(proof)", .oversizedMessage),
            ("c=eSws,r=\(nonce),p=\(proof)", .channelBindingMismatch),
            ("c=bixh,r=\(nonce),p=\(proof)", .channelBindingMismatch),
            ("c=biwsAAAA,r=\(nonce),p=\(proof)", .channelBindingMismatch),
            ("c=biws,r=\(SCRAMVector.clientNonce),p=\(proof)", .nonceMismatch),
            ("c=biws,r=\(SCRAMVector.clientNonce)other,p=\(proof)", .nonceMismatch),
            ("c=biws,r=\(nonce)x,p=\(proof)", .nonceMismatch),
            ("c=biws,r=\(nonce),x=1,p=\(proof)", .invalidProof),
        ] as [(String, SCRAMError)])
    func `a malformed or wrong final message of the client is refused`(_ message: String, _ error: SCRAMError) {
        #expect(throws: error) { try concluded(message) }
    }

    @Test func `the final message of another exchange is refused`() throws {
        var server = try SCRAMServer(nonce: Array(1...18), binding: .none, unknownUsers: .sample)
        _ = try server.receive(clientFirst: Array(SCRAMVector.clientFirst.utf8))
        _ = try server.challenge(with: .sample)
        #expect(throws: SCRAMError.nonceMismatch) {
            try server.receive(clientFinal: Array(SCRAMVector.clientFinal.utf8))
        }
        #expect(server.authenticatedName == nil)
    }

    @Test(arguments: [0, 8, 16, 17, 47]) func `a channel binding that is cut off is refused, before its proof`(
        byteCount: Int
    ) throws {
        let final = try SCRAMExchange.makePlus().interrupted(at: .clientFinal)
        let input = ChannelBinding.tlsExporter(SCRAMExchange.exporter).input
        let whole = "c=" + Base64.encode(input, .standard)
        let text = try #require(final.text.hasPrefix(whole) ? final.text.dropFirst(whole.utf8.count) : nil)
        #expect(final.failure(with: whole + text) == nil)
        let cut = Base64.encode(Array(input.prefix(byteCount)), .standard)
        let error = final.failure(with: "c=\(cut)" + text)
        #expect(error == (byteCount == 0 ? .invalidAttribute(.channelBinding) : .channelBindingMismatch))
    }

    @Test func `events in the wrong state fail the exchange for good`() throws {
        let (first, final) = (Array(SCRAMVector.clientFirst.utf8), Array(SCRAMVector.clientFinal.utf8))
        var fresh = try SCRAMVector.server()
        #expect(throws: SCRAMError.unexpectedEvent) { try fresh.challenge(with: .sample) }
        #expect(throws: SCRAMError.unexpectedEvent) { try fresh.receive(clientFirst: first) }
        var early = try SCRAMVector.server()
        #expect(throws: SCRAMError.unexpectedEvent) { try early.receive(clientFinal: final) }
        var requested = try SCRAMVector.server()
        _ = try requested.receive(clientFirst: first)
        #expect(throws: SCRAMError.unexpectedEvent) { try requested.receive(clientFinal: final) }
        #expect(throws: SCRAMError.unexpectedEvent) { try requested.challenge(with: .sample) }
        var challenged = try SCRAMVector.challengingServer()
        #expect(throws: SCRAMError.unexpectedEvent) { try challenged.challenge(with: .sample) }
        var repeated = try SCRAMVector.challengingServer()
        #expect(throws: SCRAMError.unexpectedEvent) { try repeated.receive(clientFirst: first) }
        #expect(throws: SCRAMError.unexpectedEvent) { try repeated.receive(clientFinal: final) }
    }

    @Test func `a second proof is refused, after a wrong one and after a correct one`() throws {
        let final = Array(SCRAMVector.clientFinal.utf8)
        let wrong = Array("c=biws,r=\(Self.nonce),p=\(Base64.encode([UInt8](repeating: 0, count: 32), .standard))".utf8)
        var server = try SCRAMVector.challengingServer()
        #expect(throws: SCRAMError.invalidProof) { try server.receive(clientFinal: wrong) }
        #expect(throws: SCRAMError.unexpectedEvent) { try server.receive(clientFinal: final) }
        var finished = try SCRAMVector.challengingServer()
        _ = try finished.receive(clientFinal: final)
        #expect(throws: SCRAMError.unexpectedEvent) { try finished.receive(clientFinal: final) }
        #expect(finished.authenticatedName == nil)
    }
}
