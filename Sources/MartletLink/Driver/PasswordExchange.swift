import MartletAuthentication
import MartletTransport
import MartletWire

/// The proof of a password on one connection: SCRAM-SHA-256-PLUS, which binds it to the TLS connection (C-68, C-70).
struct PasswordExchange: Sendable {
    /// A connection on which the password is not used.
    enum Fault: Error, CustomStringConvertible {
        /// The connection has no TLS, or one without a channel binding.
        case noChannelBinding

        var description: String { "the connection has no channel binding, which a password requires" }
    }

    /// The number of random bytes of the nonce.
    private static let nonceByteCount = 24

    let mechanism: MechanismName
    private var machine: SCRAMClient

    /// - Parameter allowsPlaintext: Whether the password is used without TLS, by SCRAM-SHA-256.
    init(
        _ make: LinkProof.ExchangeMaker, on transport: any Transport, allowsPlaintext: Bool
    ) throws {
        let exporter = transport.exportSecret(
            label: ChannelBinding.exporterLabel, byteCount: ChannelBinding.exporterByteCount)
        let isPlain = exporter == nil
        guard !isPlain || transport.security == nil && allowsPlaintext,
            let mechanism = MechanismName(isPlain ? "SCRAM-SHA-256" : "SCRAM-SHA-256-PLUS")
        else { throw Fault.noChannelBinding }
        self.mechanism = mechanism
        var random = transport.loop.random
        let nonce = (0..<Self.nonceByteCount).map { _ in UInt8.random(in: .min ... .max, using: &random) }
        machine = try make(nonce, exporter.map { ChannelBinding.tlsExporter($0) } ?? ChannelBinding.none)
    }

    /// Returns the message for the hello.
    mutating func start() -> Credential? { Credential(machine.start()) }

    /// Returns the answer to the relay's message, and the message with which the relay has to prove its identity. The
    /// computation takes up to a second.
    mutating func answer(_ message: Credential) throws -> (message: Credential, serverFinal: Credential) {
        let answer = try machine.receive(serverFirst: message.bytes)
        guard let answer = Credential(answer), let final = machine.expectedServerFinal.flatMap({ Credential($0) })
        else { throw SCRAMError.oversizedMessage }
        return (answer, final)
    }
}
