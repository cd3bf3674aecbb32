#if MARTLET_NETWORK_STAND_IN
    import Foundation
    package import MartletTransport
    import MartletWire
    package import MartletNetworkStandIn
#elseif canImport(Network)
    import Foundation
    import MartletWire
    import Network
    package import Security
#endif

#if canImport(Network) || MARTLET_NETWORK_STAND_IN
    /// A client's connection with TLS on Apple systems, through Network.framework (C-65).
    ///
    /// The framework resolves the name, connects and performs the handshake. `transportDidConnect` follows all of them.
    /// A connection that waits for a network has failed, because the client has its own reconnect policy.
    ///
    /// | phase | meaning | left by |
    /// |---|---|---|
    /// | idle | not started | start |
    /// | connecting | up to the end of the handshake | readiness, a failure, close |
    /// | open | | close, a failure |
    /// | finishing | the handler's last bytes are sent, then the end of the stream | the end, a failure, close |
    /// | ending | the framework closes the connection | its last state |
    /// | closed | | |
    package final class NetworkTransport: Transport, @unchecked Sendable {  // All state is accessed on its loop only.
        private enum Phase {
            case idle
            case connecting
            case open
            case finishing
            case ending
            case closed
        }

        /// The result of a receive.
        private struct Received {
            var bytes: [UInt8]
            var isComplete: Bool
            var error: NWError?
        }

        /// The maximum size of a receive and of a send, in bytes.
        private static let bufferByteCount = 64 << 10
        /// The least room for the handler's bytes; see `TransportHandler.transport(_:fill:)`.
        private static let minFillByteCount = 20 << 10

        /// The loop of the handler.
        package let loop: EventLoop
        private let queue = DispatchQueue(label: "martlet-network")
        private let connection: NWConnection
        private let verification: Verification
        private let offersWeb: Bool
        private var phase = Phase.idle
        private var handler: (any TransportHandler)?
        private var closeReason: CloseReason?
        private var isPaused = false
        private var isReceiving = false
        /// A result that has arrived while reading was paused.
        private var held: Received?
        private var hasReceivedEnd = false
        private var isFillPending = false
        private var needsWrite = false
        private var isSending = false

        /// Creates a connection that is not started.
        ///
        /// - Parameter identity: The client's certificate, from the keychain or a PKCS #12 file.
        /// - Throws: `TLSError.invalidFile` for trusted certificates that cannot be read, and for an identity in files,
        ///   which the platform does not support.
        package init(
            to endpoint: Endpoint, tls: TLSClientOptions, identity: SecIdentity? = nil, on loop: EventLoop
        ) throws(TLSError) {
            self.loop = loop
            verification = try Verification(tls, host: String((tls.serverName ?? endpoint.host).withoutFinalDot))
            offersWeb = endpoint.webSocketPath != nil
            guard let port = NWEndpoint.Port(rawValue: endpoint.port) else { throw .invalidHost(endpoint.host) }
            connection = NWConnection(
                host: NWEndpoint.Host(endpoint.host), port: port,
                using: verification.parameters(identity: identity, offersWeb: offersWeb, queue: queue))
        }

        // MARK: Properties

        /// Nil: the framework does not reveal the address that it chose.
        package var remoteAddress: SocketAddress? { nil }
        /// Nil: the framework does not reveal the address that it chose.
        package var localAddress: SocketAddress? { nil }
        /// The number of bytes that the framework has not processed.
        package private(set) var unsentByteCount = 0
        /// False: the framework does not reveal lost segments.
        package var isStalled: Bool { false }

        private var metadata: sec_protocol_metadata_t? {
            guard phase == .open || phase == .finishing else { return nil }
            let metadata = connection.metadata(definition: NWProtocolTLS.definition) as? NWProtocolTLS.Metadata
            return metadata?.securityProtocolMetadata
        }

        /// The version, the cipher suite and the application protocol, after the handshake. The framework does not
        /// reveal a resumption. The peer's certificate is verified, but not parsed.
        package var security: TransportSecurity? {
            guard let metadata else { return nil }
            let version = sec_protocol_metadata_get_negotiated_tls_protocol_version(metadata)
            let suite = sec_protocol_metadata_get_negotiated_tls_ciphersuite(metadata).rawValue
            return TransportSecurity(
                version: version == .TLSv13 ? "TLSv1.3" : "TLSv1.2", isResumed: false,
                cipher: "0x" + String(suite, radix: 16), applicationProtocol: applicationProtocol ?? "",
                peerCertificate: nil)
        }

        /// The application protocol, after the handshake; nil without one.
        package var applicationProtocol: String? {
            guard let metadata, let name = unsafe sec_protocol_metadata_get_negotiated_protocol(metadata) else {
                return nil
            }
            return unsafe String(cString: name)
        }

        /// Exports keying material with an empty context; see `Transport`.
        package func exportSecret(label: String, byteCount: Int) -> [UInt8]? {
            // The framework does not reveal whether TLS 1.2 uses the extended master secret.
            guard let metadata, sec_protocol_metadata_get_negotiated_tls_protocol_version(metadata) == .TLSv13 else {
                return nil
            }
            // The context is empty and not absent, which TLS 1.2 distinguishes (RFC 5705 §4).
            let context: [UInt8] = [0]
            let secret = unsafe sec_protocol_metadata_create_secret_with_context(
                metadata, label.utf8.count, label, 0, context, byteCount)
            return secret.map { [UInt8]($0 as DispatchData) }
        }

        // MARK: Start and end

        /// Connects; see `Transport`.
        package func start(_ handler: any TransportHandler) {
            precondition(phase == .idle, "a transport is started once")
            self.handler = handler
            phase = .connecting
            guard loop.add(self) else {
                closeReason = .error(.loopStopped)
                return loop.onTurnEnd { self.closed() }
            }
            // The framework's last state releases this closure.
            connection.stateUpdateHandler = { [loop] state in loop.execute { self.changed(to: state) } }
            connection.start(queue: queue)
        }

        /// Replaces the handler; see `Transport`.
        package func replaceHandler(_ handler: any TransportHandler) {
            self.handler = handler
        }

        private func changed(to state: NWConnection.State) {
            switch state {
            case .ready: connected()
            case .waiting(let error), .failed(let error): fail(reason(of: error))
            case .cancelled: closed()
            default: break
            }
        }

        private func connected() {
            guard phase == .connecting else { return }
            phase = .open
            // The framework accepts a server that answers without an application protocol.
            // A proxy of the web may select none (C-118).
            let isValid =
                offersWeb
                ? [nil, TransportSecurity.webProtocol].contains(applicationProtocol)
                : applicationProtocol == TransportSecurity.martletProtocol
            guard isValid else {
                return fail(.error(.tls(.noCommonProtocol)))
            }
            handler?.transportDidConnect(self)
            receive()
            if needsWrite { fillAtTurnEnd() }
        }

        private func reason(of error: NWError) -> CloseReason {
            if let failure = verification.failure { return .error(.tls(failure)) }
            switch error {
            case .posix(let code):
                let error = TransportError(errno: code.rawValue, call: "NWConnection")
                return error == .reset ? .reset : .error(error)
            case .dns(let code): return .error(.resolutionFailed(code: code, text: "\(error)"))
            case .tls: return .error(.tls(.protocolError("\(error)")))
            default: return .error(.tls(.protocolError("\(error)")))
            }
        }

        private func fail(_ reason: CloseReason) {
            guard phase != .ending, phase != .closed else { return }
            closeReason = closeReason ?? reason
            phase = .ending
            connection.forceCancel()
        }

        private func closed() {
            guard phase != .closed else { return }
            phase = .closed
            loop.remove(self)
            connection.stateUpdateHandler = nil
            let handler = handler
            self.handler = nil
            held = nil
            handler?.transport(self, didClose: closeReason ?? .local)
        }

        /// Closes the stream; see `Transport`. The framework sends close_notify.
        package func close(afterFlush: Bool) {
            guard phase == .open || phase == .connecting || phase == .finishing else { return }
            if hasReceivedEnd { closeReason = closeReason ?? .endOfStream }
            guard afterFlush, phase != .connecting else {
                phase = .ending
                return connection.cancel()
            }
            guard phase == .open else { return }
            phase = .finishing
            fillAtTurnEnd()
        }

        /// Resets the connection; see `Transport`.
        package func abort() {
            fail(.local)
        }

        // MARK: Receiving

        /// Stops reading; see `Transport`.
        package func pauseReading() {
            isPaused = true
        }

        /// Resumes reading; see `Transport`.
        package func resumeReading() {
            guard isPaused else { return }
            isPaused = false
            loop.onTurnEnd { self.deliverHeld() }
        }

        private func receive() {
            guard phase == .open || phase == .finishing, !isPaused, !isReceiving, held == nil, !hasReceivedEnd else {
                return
            }
            isReceiving = true
            connection.receive(minimumIncompleteLength: 1, maximumLength: Self.bufferByteCount) {
                [loop] data, _, isComplete, error in
                let bytes = data.map { [UInt8]($0) } ?? []
                loop.execute {
                    self.isReceiving = false
                    self.held = Received(bytes: bytes, isComplete: isComplete, error: error)
                    self.deliverHeld()
                }
            }
        }

        private func deliverHeld() {
            guard !isPaused else { return }
            if let received = held.take() { take(received) }
            receive()
        }

        private func take(_ received: Received) {
            if !received.bytes.isEmpty, phase == .open {
                handler?.transport(self, didReceive: received.bytes.rawBytes)
            }
            guard phase == .open || phase == .finishing else { return }
            if let error = received.error { return fail(reason(of: error)) }
            guard received.isComplete else { return }
            hasReceivedEnd = true
            if phase == .open { handler?.transportDidReceiveEndOfStream(self) }
        }

        // MARK: Sending

        /// Requests a fill; see `Transport`.
        package func setNeedsWrite() {
            needsWrite = true
            if phase == .open { fillAtTurnEnd() }
        }

        private func fillAtTurnEnd() {
            guard !isFillPending, !isSending else { return }
            isFillPending = true
            loop.onTurnEnd { self.fill() }
        }

        private func fill() {
            isFillPending = false
            guard let handler, !isSending, phase == .open || phase == .finishing else { return }
            needsWrite = false
            let bytes = nextBytes(of: handler)
            if !bytes.isEmpty {
                send(bytes)
            } else if phase == .finishing {
                sendEnd()
            }
        }

        private func nextBytes(of handler: any TransportHandler) -> [UInt8] {
            unsafe [UInt8](unsafeUninitializedCapacity: Self.bufferByteCount) { storage, count in
                let bytes = UnsafeMutableRawBufferPointer(storage)
                var output = unsafe OutputRawSpan(buffer: bytes, initializedCount: 0)
                while handler.transport(self, fill: &output), output.freeCapacity >= Self.minFillByteCount {}
                count = unsafe output.finalize(for: bytes)
            }
        }

        private func send(_ bytes: [UInt8]) {
            isSending = true
            unsentByteCount = bytes.count
            connection.send(
                content: bytes,
                completion: .contentProcessed { [loop] error in
                    loop.execute { self.sent(error) }
                })
        }

        private func sent(_ error: NWError?) {
            isSending = false
            unsentByteCount = 0
            if let error { return fail(reason(of: error)) }
            fill()
        }

        private func sendEnd() {
            isSending = true
            connection.send(
                content: nil as [UInt8]?, contentContext: .finalMessage, isComplete: true,
                completion: .contentProcessed { [loop] _ in
                    loop.execute { self.close(afterFlush: false) }
                })
        }
    }

    extension NetworkTransport: LoopStopHandler {
        /// Aborts the connection.
        package func loopWillStop() {
            connection.forceCancel()
            closed()
        }
    }
#endif
