/// The server of SCRAM-SHA-256 and SCRAM-SHA-256-PLUS (RFC 5802, RFC 7677).
///
/// | state | owns | ends with |
/// |---|---|---|
/// | initial | – | `receive(clientFirst:)` |
/// | received client-first | the message, its channel binding | `challenge(with:)` |
/// | sent server-first | both messages, the record | `receive(clientFinal:)` |
/// | finished | the name of the account | any further event, which fails |
/// | failed | nothing | – |
///
/// Every error ends in the state failed. An unknown user and a wrong password have the same messages and the same
/// error. The caller should report all errors to the client as the same one, as RFC 5802 §7 permits.
public struct SCRAMServer: Sendable {
    /// Whether clients must bind the exchange to the TLS connection.
    public enum BindingPolicy: Equatable, Sendable {
        /// The connection has no TLS. Clients cannot use a channel binding; the mechanism is SCRAM-SHA-256.
        case none
        /// The connection has this `tls-exporter`, 32 bytes (RFC 9266), and clients must use it; the mechanism is
        /// SCRAM-SHA-256-PLUS.
        case required(exporter: [UInt8])
    }

    private struct Request {
        let message: ClientFirstMessage
        let channelBinding: ChannelBinding
    }

    private struct Challenge {
        let request: Request
        /// Both nonces.
        let nonce: [UInt8]
        let serverFirst: [UInt8]
        let verification: SCRAMVerification
    }

    private enum State {
        case initial
        case receivedClientFirst(Request)
        case sentServerFirst(Challenge)
        case finished(SCRAMName)
        case failed
    }

    private let nonce: [UInt8]
    private let policy: BindingPolicy
    private let unknownUsers: UnknownUserRecords
    private var state = State.initial

    /// Creates a server for one exchange.
    ///
    /// - Parameters:
    ///   - nonce: 18 to 128 random bytes that no other exchange uses.
    ///   - binding: Whether clients must bind the exchange to the TLS connection.
    ///   - unknownUsers: The records for unknown users, the same for all exchanges of a server.
    /// - Throws: ``SCRAMError/invalidNonce``, ``SCRAMError/invalidExporter``.
    public init(nonce: [UInt8], binding: BindingPolicy, unknownUsers: UnknownUserRecords) throws(SCRAMError) {
        guard SCRAMLimits.nonceByteCount.contains(nonce.count) else { throw .invalidNonce }
        try self.init(nonceText: Base64.encode(nonce, .standard), binding: binding, unknownUsers: unknownUsers)
    }

    /// Creates a server with the characters of its nonce, which are visible ASCII without a comma.
    init(nonceText: String, binding: BindingPolicy, unknownUsers: UnknownUserRecords) throws(SCRAMError) {
        if case .required(let exporter) = binding { try ChannelBinding.tlsExporter(exporter).validate() }
        nonce = Array(nonceText.utf8)
        policy = binding
        self.unknownUsers = unknownUsers
    }

    /// The name of the account, if the exchange succeeded.
    public var authenticatedName: String? {
        if case .finished(let name) = state { name.text } else { nil }
    }

    /// Receives the `client-first-message`.
    ///
    /// - Returns: The name of the account that the client wants. The client has not proved anything yet. Names are
    ///   equal if their bytes are equal, which `==` of `String` does not compare.
    /// - Throws: ``SCRAMError`` if the message is invalid, its channel binding violates the policy, or it was not
    ///   expected.
    public mutating func receive(clientFirst bytes: [UInt8]) throws(SCRAMError) -> String {
        let previous = state
        state = .failed
        guard case .initial = previous else { throw .unexpectedEvent }
        let message = try ClientFirstMessage(parsing: bytes)
        let channelBinding = try channelBinding(for: message.flag)
        guard message.nonce.count + nonce.count <= SCRAMLimits.maxNonceTextByteCount else {
            throw .invalidAttribute(.nonce)
        }
        state = .receivedClientFirst(Request(message: message, channelBinding: channelBinding))
        return message.userName.text
    }

    /// The channel binding of the connection, if the policy permits the client's flag.
    private func channelBinding(for flag: ClientFirstMessage.Flag) throws(SCRAMError) -> ChannelBinding {
        switch (flag, policy) {
        case (.none, .none): return .none
        case (.unsupportedByServer, .none): return .unsupportedByServer
        case (.none, .required): throw .channelBindingRequired
        case (.unsupportedByServer, .required): throw .channelBindingDowngrade
        case (.binding(ChannelBinding.exporterName), .required(let exporter)): return .tlsExporter(exporter)
        case (.binding, _): throw .unsupportedChannelBinding
        }
    }

    /// Challenges the client.
    ///
    /// - Parameter record: The record of the account, or nil if there is none. The client then receives a challenge
    ///   that looks like others, and the exchange fails at its end.
    /// - Returns: The `server-first-message`.
    /// - Throws: ``SCRAMError/unexpectedEvent`` if the client's first message was not received just before, for example
    ///   because another message of the client has failed the exchange during the lookup.
    public mutating func challenge(with record: SCRAMRecord?) throws(SCRAMError) -> [UInt8] {
        let previous = state
        state = .failed
        guard case .receivedClientFirst(let request) = previous else { throw .unexpectedEvent }
        let verification = unknownUsers.verification(of: request.message.userName, with: record)
        let message = ServerFirstMessage(
            nonce: request.message.nonce + nonce, salt: verification.record.salt,
            iterations: verification.record.iterations)
        state = .sentServerFirst(
            Challenge(
                request: request, nonce: message.nonce, serverFirst: message.bytes, verification: verification))
        return message.bytes
    }

    /// Receives the `client-final-message`. The client has proved its identity when this method returns.
    ///
    /// - Returns: The `server-final-message`.
    /// - Throws: ``SCRAMError`` if the message is invalid, its channel binding or nonce is not that of the exchange,
    ///   its proof is not correct, the user is unknown, or the message was not expected.
    public mutating func receive(clientFinal bytes: [UInt8]) throws(SCRAMError) -> [UInt8] {
        let previous = state
        state = .failed
        guard case .sentServerFirst(let challenge) = previous else { throw .unexpectedEvent }
        let message = try ClientFinalMessage(parsing: bytes)
        guard SCRAMHash.areEqual(message.channelBindingInput, challenge.request.channelBinding.input) else {
            throw .channelBindingMismatch
        }
        guard SCRAMHash.areEqual(message.nonce, challenge.nonce) else { throw .nonceMismatch }
        let transcript = SCRAMTranscript(
            clientFirstBare: challenge.request.message.bare, serverFirst: challenge.serverFirst,
            withoutProof: message.withoutProof)
        let signature = try challenge.verification.signature(for: message.proof, in: transcript)
        state = .finished(challenge.request.message.userName)
        return ServerFinalMessage.bytes(signature: signature)
    }
}
