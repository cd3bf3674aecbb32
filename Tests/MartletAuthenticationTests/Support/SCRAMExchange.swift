@testable import MartletAuthentication

/// A client and a server that exchange their messages in memory.
struct SCRAMExchange {
    enum Step: CaseIterable {
        case clientFirst, serverFirst, clientFinal, serverFinal
    }

    var client: SCRAMClient
    var server: SCRAMServer
    /// The record with which the server challenges every name.
    var record: SCRAMRecord?

    init(client: SCRAMClient, server: SCRAMServer, record: SCRAMRecord?) {
        (self.client, self.server, self.record) = (client, server, record)
    }

    /// Whether both sides believe that the exchange succeeded.
    var isFinished: Bool { client.isFinished && server.authenticatedName != nil }

    /// Delivers the message of a step, and returns that of the next one. The last one has no answer.
    private mutating func deliver(_ message: [UInt8], _ step: Step) throws(SCRAMError) -> [UInt8] {
        switch step {
        case .clientFirst:
            _ = try server.receive(clientFirst: message)
            return try server.challenge(with: record)
        case .serverFirst: return try client.receive(serverFirst: message)
        case .clientFinal: return try server.receive(clientFinal: message)
        case .serverFinal:
            try client.receive(serverFinal: message)
            return []
        }
    }

    /// Plays the exchange to its end.
    mutating func run() throws(SCRAMError) {
        let message = client.start()
        try run(from: .clientFirst, with: message)
    }

    private mutating func run(from first: Step, with message: [UInt8]) throws(SCRAMError) {
        var message = message
        for step in Step.allCases.drop(while: { $0 != first }) { message = try deliver(message, step) }
    }

    /// The error with which the exchange fails; nil if it does not fail.
    func failure() -> SCRAMError? {
        var exchange = self
        do {
            try exchange.run()
            return nil
        } catch {
            return error
        }
    }

    /// Plays the exchange until the message of this step was sent and not delivered.
    func interrupted(at last: Step) throws(SCRAMError) -> Interrupted {
        var exchange = self
        var message = exchange.client.start()
        for step in Step.allCases.prefix(while: { $0 != last }) { message = try exchange.deliver(message, step) }
        return Interrupted(exchange: exchange, step: last, message: message)
    }

    /// An exchange with one message on its way.
    struct Interrupted {
        fileprivate let exchange: SCRAMExchange
        fileprivate let step: Step
        let message: [UInt8]

        var text: String { String(decoding: message, as: UTF8.self) }

        /// The error with which the exchange fails if another message arrives; nil if it does not fail.
        func failure(with other: [UInt8]) -> SCRAMError? {
            var exchange = exchange
            do {
                try exchange.run(from: step, with: other)
                return nil
            } catch {
                return error
            }
        }

        func failure(with other: String) -> SCRAMError? {
            failure(with: Array(other.utf8))
        }
    }
}

extension SCRAMExchange {
    static let exporter = [UInt8](repeating: 0xE5, count: ChannelBinding.exporterByteCount)

    /// An exchange of SCRAM-SHA-256, or of SCRAM-SHA-256-PLUS with ``exporter``.
    static func make(
        userName: String = "user", password: String = "pencil", channelBinding: ChannelBinding = .none,
        binding: SCRAMServer.BindingPolicy = .none, isKnown: Bool = true
    ) throws -> SCRAMExchange {
        SCRAMExchange(
            client: try SCRAMClient(
                userName: userName, password: password, nonce: Array(1...18), channelBinding: channelBinding),
            server: try SCRAMServer(nonce: Array(101...118), binding: binding, unknownUsers: .sample),
            record: isKnown ? .sample : nil)
    }

    static func makePlus() throws -> SCRAMExchange {
        try make(channelBinding: .tlsExporter(exporter), binding: .required(exporter: exporter))
    }
}

extension SCRAMRecord {
    /// The record of the password "pencil" with the salt of RFC 7677 §3.
    static let sample = SCRAMRecord(
        "SCRAM-SHA-256$4096:W22ZaJ0SNY7soEsUEjb6gQ==$"
            + "WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=:wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU=")!
}

extension UnknownUserRecords {
    static let sample = makeSample(secret: 7)

    static func makeSample(secret: UInt8) -> UnknownUserRecords {
        do {
            return try UnknownUserRecords(secret: Array(repeating: secret, count: 32), iterations: 4096)
        } catch {
            preconditionFailure("\(error)")
        }
    }
}

/// The exchange of RFC 7677 §3, of the user "user" with the password "pencil".
enum SCRAMVector {
    static let clientNonce = "rOprNGfwEbeRWgbNEkqO"
    static let serverNonce = "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
    static let clientFirst = "n,,n=user,r=rOprNGfwEbeRWgbNEkqO"
    static let serverFirst = "r=\(clientNonce)\(serverNonce),s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
    static let clientFinal =
        "c=biws,r=\(clientNonce)\(serverNonce),p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
    static let serverFinal = "v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="

    static func client(
        password: String = "pencil", channelBinding: ChannelBinding = .none
    ) throws -> SCRAMClient {
        try SCRAMClient(userName: "user", password: password, nonceText: clientNonce, channelBinding: channelBinding)
    }

    /// A client that has sent its first message.
    static func startedClient() throws -> SCRAMClient {
        var client = try client()
        _ = client.start()
        return client
    }

    static func server(binding: SCRAMServer.BindingPolicy = .none) throws -> SCRAMServer {
        try SCRAMServer(nonceText: serverNonce, binding: binding, unknownUsers: .sample)
    }

    /// A server that has sent its challenge.
    static func challengingServer() throws -> SCRAMServer {
        var server = try server()
        _ = try server.receive(clientFirst: Array(clientFirst.utf8))
        _ = try server.challenge(with: .sample)
        return server
    }
}
