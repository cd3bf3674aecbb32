import CMartletSystem
import CMartletTLS

/// The TLS side of a server: its certificate and ticket keys. It can be shared by threads.
package final class TLSServer: Sendable {
    /// The maximum age of ticket keys that are not from a file, in nanoseconds.
    static let maxTicketKeyAge: UInt64 = 12 * 3600 * 1_000_000_000
    /// The minimum duration between two attempts to replace old ticket keys, in nanoseconds.
    static let ticketKeyRetryInterval: UInt64 = 60 * 1_000_000_000

    private struct State: Sendable {
        var context: TLSContext
        /// The time of the context's creation, on the loops' clock.
        var createdAt: UInt64
        /// The earliest time of the next attempt to replace old ticket keys.
        var retryAt: UInt64 = 0
        /// The first ticket key of a server without a file. After its replacement, the key is used for decryption only.
        var ownKey: [UInt8]
    }

    private let options: TLSServerOptions
    private let applicationProtocol: String
    private let acceptsWeb: Bool
    private let onReplacementFailed: @Sendable (TLSError) -> Void
    private let state: Guarded<State>

    /// Reads the files of the options. Throws `TLSError.invalidFile`, `.keyMismatch` or `.weakKey`.
    package convenience init(_ options: TLSServerOptions) throws(TLSError) {
        try self.init(options) { _ in }
    }

    /// - Parameters:
    ///   - applicationProtocol: The protocol that clients have to name (RFC 7301).
    ///   - acceptsWeb: Whether `http/1.1` and clients without this extension are accepted too (C-118).
    ///   - onReplacementFailed: Receives the reason why old ticket keys remain in use.
    package init(
        _ options: TLSServerOptions, applicationProtocol: String = TransportSecurity.martletProtocol,
        acceptsWeb: Bool = false, onReplacementFailed: @escaping @Sendable (TLSError) -> Void
    ) throws(TLSError) {
        self.options = options
        self.applicationProtocol = applicationProtocol
        self.acceptsWeb = acceptsWeb
        self.onReplacementFailed = onReplacementFailed
        state = Guarded(try Self.load(options, applicationProtocol, acceptsWeb, previousKey: []))
    }

    /// Reads all files again. Existing connections keep their certificate. After an error the server continues with the
    /// earlier certificate and keys.
    package func reload() throws(TLSError) {
        let ownKey = state.withLock { $0.ownKey }
        let next = try Self.load(options, applicationProtocol, acceptsWeb, previousKey: ownKey)
        state.withLock { $0 = next }
    }

    /// The reason why the certificate is not currently valid, so that peers will refuse it; nil if it is valid.
    package var certificateFault: TLSError? { state.withLock { $0.context }.certificateFault }

    /// The end of the validity of the certificate in seconds since 1970.
    package var certificateExpiry: Int64? { state.withLock { $0.context }.certificateExpiry }

    /// Returns TLS over an accepted transport, neither of them started; nil without memory.
    package func transport(over lower: any Transport) -> TLSTransport? {
        connection().map { TLSTransport($0, over: lower) }
    }

    /// - Parameter clock: The time on the loops' clock.
    func connection(clock: UInt64 = EventLoop.clock) -> TLSConnection? {
        if options.ticketKeyFile == nil, beginsReplacement(clock) {
            // The files are read again, since a context is immutable. If they are invalid, the old keys remain in use.
            do throws(TLSError) { try reload() } catch { onReplacementFailed(error) }
        }
        return TLSConnection(server: state.withLock { $0.context })
    }

    /// Whether the ticket keys are old and the caller has to replace them. Connections in quick succession do not
    /// repeat an attempt that fails or that another thread makes.
    private func beginsReplacement(_ clock: UInt64) -> Bool {
        state.withLock { state in
            // Another thread may have replaced the keys after this time.
            let isOld = clock - min(state.createdAt, clock) > Self.maxTicketKeyAge
            guard isOld, state.retryAt <= clock else { return false }
            state.retryAt = clock + Self.ticketKeyRetryInterval
            return true
        }
    }

    private static func load(
        _ options: TLSServerOptions, _ applicationProtocol: String, _ acceptsWeb: Bool, previousKey: [UInt8]
    ) throws(TLSError) -> State {
        let keyByteCount = Int(martlet_tls_ticket_key_byte_count)
        var ownKey: [UInt8] = []
        let keys: [UInt8]
        if let file = options.ticketKeyFile {
            keys = try readFile(file, maxByteCount: TLSContext.maxTicketKeys * keyByteCount)
            guard !keys.isEmpty, keys.count % keyByteCount == 0 else {
                throw .invalidFile(path: file, reason: "not a multiple of \(keyByteCount) bytes")
            }
        } else {
            ownKey = [UInt8](repeating: 0, count: keyByteCount)
            guard fillRandom(&ownKey) else { throw .protocolError("the system has no random bytes") }
            keys = ownKey + previousKey
        }
        let context = try TLSContext(
            server: options, applicationProtocol: applicationProtocol, acceptsWeb: acceptsWeb, ticketKeys: keys)
        return State(context: context, createdAt: EventLoop.clock, ownKey: ownKey)
    }

    private static func readFile(_ path: String, maxByteCount: Int) throws(TLSError) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: maxByteCount + 1)
        let count = unsafe martlet_file_read(path, &bytes, bytes.count)
        guard count >= 0 else {
            throw .invalidFile(
                path: path, reason: systemText { unsafe martlet_error_text(Int32(-count), &$0, $1) })
        }
        guard count <= maxByteCount else {
            throw .invalidFile(path: path, reason: "longer than \(maxByteCount) bytes")
        }
        return Array(bytes.prefix(Int(count)))
    }
}
