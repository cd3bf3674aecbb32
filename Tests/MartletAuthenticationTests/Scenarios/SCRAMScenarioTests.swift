import Testing

@testable import MartletAuthentication

@Suite struct SCRAMScenarioTests {
    @Test func `client and server authenticate each other without TLS`() throws {
        var exchange = try SCRAMExchange.make()
        try exchange.run()
        #expect(exchange.isFinished)
        #expect(exchange.server.authenticatedName == "user")
    }

    @Test func `client and server authenticate each other with tls-exporter`() throws {
        var exchange = try SCRAMExchange.makePlus()
        try exchange.run()
        #expect(exchange.isFinished)
    }

    @Test func `tls-exporter is in the messages of the client`() throws {
        let exchange = try SCRAMExchange.makePlus()
        let input = Base64.encode(Array("p=tls-exporter,,".utf8) + SCRAMExchange.exporter, .standard)
        #expect(
            try exchange.interrupted(at: .clientFirst).text == "p=tls-exporter,,n=user,r=AQIDBAUGBwgJCgsMDQ4PEBES")
        #expect(try exchange.interrupted(at: .clientFinal).text.hasPrefix("c=\(input),r="))
    }

    // Specs/connection.md §6.1
    @Test func `the messages of the specification's example with tls-exporter`() throws {
        let nonces = ["AAECAwQFBgcICQoLDA0ODxAREhMUFRYX", "QEFCQ0RFRkdISUpLTE1OT1BRUlNUVVZX"]
        let exporter = [UInt8](0..<32)
        var client = try SCRAMClient(
            userName: "ada", password: "open sesame", nonceText: nonces[0], channelBinding: .tlsExporter(exporter))
        var server = try SCRAMServer(
            nonceText: nonces[1], binding: .required(exporter: exporter), unknownUsers: .sample)
        let record = try SCRAMRecord(password: "open sesame", salt: [UInt8](128..<144), iterations: 4096)
        let first = client.start()
        #expect(first == Array("p=tls-exporter,,n=ada,r=\(nonces[0])".utf8))
        #expect(try server.receive(clientFirst: first) == "ada")
        let challenge = try server.challenge(with: record)
        #expect(challenge == Array("r=\(nonces[0])\(nonces[1]),s=gIGCg4SFhoeIiYqLjI2Ojw==,i=4096".utf8))
        let answer = try client.receive(serverFirst: challenge)
        let binding = "cD10bHMtZXhwb3J0ZXIsLAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f"
        let proof = "ZV4HhRMnaZ6KsZEAVIcHggQNVVbnwuwHL4KKOQJEOSI="
        #expect(answer == Array("c=\(binding),r=\(nonces[0])\(nonces[1]),p=\(proof)".utf8))
        let final = Array("v=Kcrgf0mYhD1t2704NK+sy5L+5mdmiEW0DKJkKgYZ42E=".utf8)
        #expect(client.expectedServerFinal == final)
        #expect(try server.receive(clientFinal: answer) == final)
    }

    @Test func `a client that supports channel bindings authenticates to a server without TLS`() throws {
        var exchange = try SCRAMExchange.make(channelBinding: .unsupportedByServer)
        try exchange.run()
        #expect(exchange.isFinished)
    }

    @Test func `names with a comma, an equals sign, blanks and other scripts are authenticated`() throws {
        for name in ["a,b=c", "=2C", "Jörg von Ü", "用户"] {
            var exchange = try SCRAMExchange.make(userName: name)
            try exchange.run()
            #expect(exchange.server.authenticatedName == name)
        }
    }

    @Test func `a password outside ASCII is authenticated by the same bytes only`() throws {
        var exchange = try SCRAMExchange.make(password: "caf\u{E9}")
        exchange.record = try SCRAMRecord(password: "caf\u{E9}", salt: Array(1...16), iterations: 5000)
        #expect(exchange.failure() == nil)
        exchange.record = try SCRAMRecord(password: "cafe\u{301}", salt: Array(1...16), iterations: 5000)
        #expect(exchange.failure() == .invalidProof)
    }

    @Test func `a wrong password and an unknown user fail with the same error at the same step`() throws {
        for password in ["Pencil", "pencil ", "p"] {
            #expect(try SCRAMExchange.make(password: password).failure() == .invalidProof)
        }
        #expect(try SCRAMExchange.make(isKnown: false).failure() == .invalidProof)
    }

    @Test func `client and server on different TLS connections fail`() throws {
        let other = [UInt8](repeating: 0xE6, count: ChannelBinding.exporterByteCount)
        let exchange = try SCRAMExchange.make(
            channelBinding: .tlsExporter(SCRAMExchange.exporter), binding: .required(exporter: other))
        #expect(exchange.failure() == .channelBindingMismatch)
    }

    @Test func `a server that does not know the record is refused`() throws {
        var exchange = try SCRAMExchange.make()
        // The record of a server that knows the StoredKey only, for example from a proof that it has seen.
        exchange.record = SCRAMRecord(
            salt: SCRAMRecord.sample.salt, iterations: 4096, storedKey: SCRAMRecord.sample.storedKey,
            serverKey: SCRAMSecret(Array(repeating: 0, count: 32)))
        #expect(exchange.failure() == .invalidServerSignature)
    }

    @Test func `the longest names and nonces stay within the size of a message`() throws {
        let nonce = [UInt8](repeating: 0xFF, count: 128)
        var exchange = SCRAMExchange(
            client: try SCRAMClient(
                userName: String(repeating: "=", count: 128), password: "pencil", nonce: nonce,
                channelBinding: .tlsExporter(SCRAMExchange.exporter)),
            server: try SCRAMServer(
                nonce: nonce, binding: .required(exporter: SCRAMExchange.exporter), unknownUsers: .sample),
            record: .sample)
        try exchange.run()
        #expect(exchange.isFinished)
    }
}
