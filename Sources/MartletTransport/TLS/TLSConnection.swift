import CMartletTLS
import MartletWire

/// A session that a later connection to the same host can resume (RFC 8446 §2.2).
///
/// A resumed handshake does not verify the server's certificate. Each resumption yields another session, so the time of
/// the verification is passed on (C-98).
@safe
final class TLSSession: @unchecked Sendable {  // Immutable.
    /// The maximum age of the verification of a session that is resumed, in nanoseconds.
    static let maxAge: UInt64 = 24 * 3600 * 1_000_000_000

    fileprivate let pointer: OpaquePointer
    /// The time of the handshake that verified the certificate, on the loops' clock.
    let verifiedAt: UInt64
    /// The end of the certificate's validity, in seconds since 1970.
    private let notAfter: Int64

    fileprivate init(_ pointer: OpaquePointer, verifiedAt: UInt64, notAfter: Int64) {
        unsafe self.pointer = pointer
        self.verifiedAt = verifiedAt
        self.notAfter = notAfter
    }

    /// Whether the session may be resumed.
    ///
    /// - Parameters:
    ///   - clock: The time on the loops' clock.
    ///   - wallClock: Milliseconds since 1970.
    func isValid(clock: UInt64, wallClock: UInt64) -> Bool {
        clock - min(verifiedAt, clock) <= Self.maxAge && Int64(clamping: wallClock / 1000) <= notAfter
    }

    deinit {
        unsafe martlet_tls_session_free(pointer)
    }
}

/// The TLS state of one connection, without input and output of its own: ciphertext goes in and out as bytes.
///
/// | state | exit |
/// |---|---|
/// | handshaking | the peer's last handshake message, a failure |
/// | open | the peer's close_notify, a failure |
/// | peerClosed: only this side sends | |
/// | failed: an alert may be pending | |
@safe
final class TLSConnection {
    enum State: Equatable {
        case handshaking
        case open
        case peerClosed
        case failed
    }

    /// The maximum size of a record's plaintext, in bytes.
    static let maxRecordByteCount = 16 << 10

    private let context: TLSContext
    /// Internal for tests, which forge records of the peer.
    let pointer: OpaquePointer
    private let host: String
    /// The time at which the certificate of the presented session was verified; nil without a session.
    private let verifiedAt: UInt64?
    private(set) var state = State.handshaking
    /// The application protocol of the connection, after the handshake; empty without one, which only a web protocol
    /// permits.
    var applicationProtocol: String {
        switch martlet_tls_protocol(UInt32(unsafe martlet_tls_selected_protocol(pointer))) {
        case martlet_tls_protocol_own: context.applicationProtocol
        case martlet_tls_protocol_web: TransportSecurity.webProtocol
        default: ""
        }
    }

    /// The client's side of a connection to `host`.
    ///
    /// - Parameter offersWeb: Whether the client offers `http/1.1` in place of its protocol.
    init(
        client context: TLSContext, host: String, resuming session: TLSSession?, offersWeb: Bool = false
    ) throws(TLSError) {
        guard
            let pointer = unsafe host.withCString({ name in
                unsafe martlet_tls_connection_create(context.pointer, name, session?.pointer)
            })
        else { throw .invalidHost(host) }
        if offersWeb, unsafe martlet_tls_offer_web(pointer) != 0 {
            unsafe martlet_tls_connection_free(pointer)
            throw .protocolError("no memory")
        }
        self.context = context
        self.host = host
        verifiedAt = session?.verifiedAt
        unsafe self.pointer = pointer
    }

    /// The server's side of a connection; nil without memory.
    init?(server context: TLSContext) {
        guard let pointer = unsafe martlet_tls_connection_create(context.pointer, nil, nil) else { return nil }
        self.context = context
        host = ""
        verifiedAt = nil
        unsafe self.pointer = pointer
    }

    deinit {
        unsafe martlet_tls_connection_free(pointer)
    }

    /// The number of bytes that wait to be sent.
    var pendingByteCount: Int { unsafe martlet_tls_pending_count(pointer) }

    /// Starts the handshake of a client.
    func start(using buffer: LoopBuffer) {
        receive(RawSpan(), into: buffer) { _ in }
    }

    /// Processes received bytes, and calls `body` with the application data in them, if any.
    func receive(_ bytes: RawSpan, into buffer: LoopBuffer, _ body: (RawSpan) -> Void) {
        var count = 0
        let result = unsafe bytes.withUnsafeBytes { bytes in
            unsafe buffer.withStorage { plain in
                unsafe martlet_tls_receive(
                    pointer, bytes.baseAddress, bytes.count, plain.baseAddress!, plain.count, &count)
            }
        }
        update(result)
        if count > 0 { buffer.withBytes(count, body) }
    }

    /// Moves pending records to `records`.
    func takePending(into records: inout OutputRawSpan) {
        guard pendingByteCount > 0 else { return }
        unsafe records.withUnsafeMutableBytes { bytes, count in
            let free = unsafe bytes.dropFirst(count)
            guard let start = unsafe UnsafeMutableRawBufferPointer(rebasing: free).baseAddress else { return }
            count += unsafe martlet_tls_take_pending(pointer, start, free.count)
        }
    }

    /// Encrypts the first `byteCount` bytes of `plain`. Records without room in `records` become pending. Returns false
    /// after a failure.
    func send(_ byteCount: Int, of plain: LoopBuffer, into records: inout OutputRawSpan) -> Bool {
        guard byteCount > 0 else { return true }
        var result = 0
        unsafe records.withUnsafeMutableBytes { bytes, count in
            let free = unsafe UnsafeMutableRawBufferPointer(rebasing: bytes.dropFirst(count))
            guard let start = free.baseAddress else { return }
            unsafe plain.withStorage { plain in
                result = unsafe martlet_tls_send(pointer, plain.baseAddress!, byteCount, start, free.count)
            }
            count += max(result, 0)
        }
        if result < 0 { state = .failed }
        return result >= 0
    }

    /// Adds close_notify to the pending records, once.
    func close() {
        unsafe martlet_tls_close(pointer)
    }

    /// The error in the state `failed`.
    var error: TLSError {
        var failure = martlet_tls_failure()
        unsafe martlet_tls_get_failure(pointer, &failure)
        return TLSError(failure, host: host)
    }

    /// The latest session of the server since the last call.
    func takeSession() -> TLSSession? {
        guard let session = unsafe martlet_tls_take_session(pointer) else { return nil }
        return unsafe TLSSession(
            session, verifiedAt: (isResumed ? verifiedAt : nil) ?? EventLoop.clock,
            notAfter: peerCertificate?.notAfter ?? .min)
    }

    /// Whether the handshake resumed a session.
    var isResumed: Bool { unsafe martlet_tls_is_resumed(pointer) != 0 }

    /// The version, such as "TLSv1.3".
    var version: String { unsafe String(cString: martlet_tls_version(pointer)) }

    /// The cipher suite, such as "TLS_AES_256_GCM_SHA384".
    var cipher: String { unsafe String(cString: martlet_tls_cipher(pointer)) }

    /// The verified certificate of the peer; nil if there is none, if its names are not UTF-8, or if they have more
    /// than 16 KiB in total.
    var peerCertificate: PeerCertificate? {
        var certificate = PeerCertificate(
            publicKeyDigest: [UInt8](repeating: 0, count: TLSPin.byteCount), notAfter: 0)
        var names = [UInt8](repeating: 0, count: Int(martlet_tls_max_names_byte_count))
        let count = unsafe martlet_tls_read_peer(
            pointer, &certificate.notAfter, &certificate.publicKeyDigest, &names, names.count)
        guard count >= 0, certificate.add(names: names[..<count]) else { return nil }
        return certificate
    }

    /// Keying material for a label (RFC 5705, RFC 8446 §7.5); nil before the handshake is complete.
    func exportSecret(label: String, byteCount: Int) -> [UInt8]? {
        var secret = [UInt8](repeating: 0, count: byteCount)
        let result = unsafe label.withCString { unsafe martlet_tls_export(pointer, $0, &secret, byteCount) }
        return result == 0 ? secret : nil
    }

    private func update(_ result: Int32) {
        switch martlet_tls_state(UInt32(result)) {
        case martlet_tls_handshaking: state = .handshaking
        case martlet_tls_open: state = .open
        case martlet_tls_peer_closed: state = .peerClosed
        default: state = .failed
        }
    }
}
