/// The client of SCRAM-SHA-256 and SCRAM-SHA-256-PLUS (RFC 5802, RFC 7677).
///
/// | state | owns | ends with |
/// |---|---|---|
/// | initial | password, nonce, channel binding | `start` |
/// | sent client-first | the same | `receive(serverFirst:)` |
/// | sent client-final | the expected signature of the server | `receive(serverFinal:)` |
/// | finished | nothing | any further event, which fails |
/// | failed | nothing | – |
///
/// Every error ends in the state failed. The client must not use the connection before ``isFinished``: only the last
/// message proves that the server knows the user's keys.
public struct SCRAMClient: Sendable {
    private struct Opening {
        let password: SCRAMPassword
        let nonce: [UInt8]
        let channelBinding: ChannelBinding
        /// The `client-first-message-bare`.
        let bare: [UInt8]
    }

    private enum State {
        case initial(Opening)
        case sentClientFirst(Opening)
        case sentClientFinal(serverSignature: SCRAMSecret)
        case finished
        case failed
    }

    private var state: State

    /// Creates a client.
    ///
    /// - Parameters:
    ///   - userName: 1 to 128 bytes of UTF-8 without control characters.
    ///   - password: 1 to 1024 bytes of UTF-8 without control characters. ASCII is prepared with SASLprep (RFC 4013).
    ///     Other characters are taken as they are, without normalization; a user must enter them in the same form.
    ///   - nonce: 18 to 128 random bytes that no other exchange uses.
    ///   - channelBinding: The channel binding, which also selects the mechanism.
    /// - Throws: ``SCRAMError/invalidUserName``, ``SCRAMError/invalidPassword``, ``SCRAMError/invalidNonce``,
    ///   ``SCRAMError/invalidExporter``.
    public init(
        userName: String, password: String, nonce: [UInt8], channelBinding: ChannelBinding
    ) throws(SCRAMError) {
        guard SCRAMLimits.nonceByteCount.contains(nonce.count) else { throw .invalidNonce }
        try self.init(
            userName: userName, password: password, nonceText: Base64.encode(nonce, .standard),
            channelBinding: channelBinding)
    }

    /// Creates a client with the characters of its nonce, which are visible ASCII without a comma.
    init(
        userName: String, password: String, nonceText: String, channelBinding: ChannelBinding
    ) throws(SCRAMError) {
        try channelBinding.validate()
        let nonce = Array(nonceText.utf8)
        let bare = ClientFirstMessage.bare(userName: try SCRAMName(userName), nonce: nonce)
        let password = try SCRAMPassword(password)
        state = .initial(Opening(password: password, nonce: nonce, channelBinding: channelBinding, bare: bare))
    }

    /// Whether the exchange succeeded: the server has accepted the proof, and has proved that it knows the user's keys.
    public var isFinished: Bool {
        if case .finished = state { true } else { false }
    }

    /// The `server-final-message` of a server that knows the user's keys, without extensions, while it is awaited;
    /// otherwise nil. A comparison with the received message, in constant time, replaces ``receive(serverFinal:)``.
    public var expectedServerFinal: [UInt8]? {
        guard case .sentClientFinal(let signature) = state else { return nil }
        return ServerFinalMessage.bytes(signature: signature.bytes)
    }

    /// Starts the exchange. This is the first event, once; calling it later traps.
    ///
    /// - Returns: The `client-first-message`.
    public mutating func start() -> [UInt8] {
        guard case .initial(let opening) = state else { preconditionFailure("the exchange was started before") }
        state = .sentClientFirst(opening)
        return opening.channelBinding.header + opening.bare
    }

    /// Receives the `server-first-message`.
    ///
    /// Computing the answer takes a time proportional to the iteration count that the server demands. A million
    /// iterations, the maximum, take about a second.
    ///
    /// - Returns: The `client-final-message`.
    /// - Throws: ``SCRAMError`` if the message is invalid, its nonce does not extend the client's, its iteration count
    ///   is not within 4096 to 1,000,000, or it was not expected.
    public mutating func receive(serverFirst bytes: [UInt8]) throws(SCRAMError) -> [UInt8] {
        let previous = state
        state = .failed
        guard case .sentClientFirst(let opening) = previous else { throw .unexpectedEvent }
        let message = try ServerFirstMessage(parsing: bytes)
        guard message.nonce.starts(with: opening.nonce), message.nonce.count > opening.nonce.count else {
            throw .nonceMismatch
        }
        let keys = opening.password.salted(message.salt, iterations: message.iterations)
        let withoutProof = ClientFinalMessage.withoutProof(
            channelBindingInput: opening.channelBinding.input, nonce: message.nonce)
        let transcript = SCRAMTranscript(clientFirstBare: opening.bare, serverFirst: bytes, withoutProof: withoutProof)
        let proof = SCRAMHash.exclusiveOr(keys.clientKey.bytes, transcript.signature(keys.storedKey))
        state = .sentClientFinal(serverSignature: SCRAMSecret(transcript.signature(keys.serverKey)))
        return ClientFinalMessage.bytes(withoutProof: withoutProof, proof: proof)
    }

    /// Receives the `server-final-message`. The exchange has succeeded when this method returns.
    ///
    /// - Throws: ``SCRAMError`` if the server refused the client, its signature is not correct, or the message is
    ///   invalid or was not expected.
    public mutating func receive(serverFinal bytes: [UInt8]) throws(SCRAMError) {
        let previous = state
        state = .failed
        guard case .sentClientFinal(let expected) = previous else { throw .unexpectedEvent }
        switch try ServerFinalMessage(parsing: bytes) {
        case .error(let reason): throw .refusedByServer(reason)
        case .signature(let signature):
            guard SCRAMSecret(signature) == expected else { throw .invalidServerSignature }
        }
        state = .finished
    }
}
