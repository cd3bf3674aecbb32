import CMartletNATS
import MartletRelay
import MartletTransport

/// A connection of libnats, whose calls may wait, on a loop that nothing else uses.
@safe actor NATSConnection {
    /// The maximum duration of an attempt to connect, of a write, and of an answer.
    private static let timeout: Int64 = 2000  // bound
    /// The maximum duration of a wait until the server has the last datagrams, in milliseconds.
    private static let flushTimeout: Int64 = 1000  // bound
    /// The interval of pings, in milliseconds. Two without an answer end the connection.
    private static let pingInterval: Int64 = 2000  // bound
    /// The pause before the second attempt to connect, in milliseconds; it doubles with each further one.
    private static let retryBase: Int64 = 100  // bound
    /// The maximum pause between two attempts, in milliseconds. A half of each is random.
    private static let retryCap: Int64 = 3000  // bound
    /// Doublings of the pause after which it is at its maximum in any case.
    private static let maxDoublingCount: Int32 = 10  // bound
    /// The maximum number of bytes that are kept for a server that is away.
    private static let maxReconnectByteCount: Int32 = 256 * 1024  // bound
    /// The maximum numbers of received datagrams, and of their bytes, that wait. Further ones are dropped.
    private static let maxPendingCount: Int32 = 65_536  // bound
    private static let maxPendingByteCount: Int32 = 16 * 1024 * 1024  // bound

    private nonisolated let loop: EventLoop
    private nonisolated let handlers: NATSHandlers
    private let settings: NATSSettings
    private var connection: OpaquePointer?
    private var subscription: OpaquePointer?
    private var reopening: Task<Void, Never>?
    /// The pause before the connection is opened again.
    private var pause: Task<Void, Never>?

    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe UnownedSerialExecutor(ordinary: loop) }

    init(_ settings: NATSSettings, on loop: EventLoop, _ onEvent: @escaping @Sendable (NATSEvent) -> Void) {
        self.settings = settings
        self.loop = loop
        handlers = NATSHandlers(onEvent)
    }

    /// Sets the recipient of datagrams, on any thread.
    nonisolated func receive(_ receiver: @escaping @Sendable ([UInt8]) -> Void) {
        handlers.receiver.withLock { $0 = NATSReceiver(take: receiver) }
    }

    /// Connects and subscribes. Returns the maximum number of bytes of a datagram.
    ///
    /// - Parameter isRetried: Whether a server that is away is attempted again later.
    func open(isRetried: Bool) throws(NATSError) -> Int {
        handlers.ended.withLock { $0 = NATSAction { [weak self] ended in Task { await self?.reopen(ended) } } }
        guard try connect(isRetried: isRetried) else {
            handlers.maxDatagramByteCount.withLock { $0 = RelayBusBounds.minDatagramByteCount }
            return RelayBusBounds.minDatagramByteCount
        }
        let maximum = min(
            NATSBus.maxDatagramByteCount, Int(clamping: unsafe natsConnection_GetMaxPayload(connection)))
        guard maximum >= RelayBusBounds.minDatagramByteCount else {
            throw .payloadTooSmall(byteCount: maximum, needed: RelayBusBounds.minDatagramByteCount)
        }
        handlers.maxDatagramByteCount.withLock { $0 = maximum }
        return maximum
    }

    /// Opens a connection again that libnats has ended, because the server has refused its credentials twice. The file
    /// of credentials is read again.
    ///
    /// - Parameter ended: The address of the connection.
    private func reopen(_ ended: UInt) {
        guard unsafe UInt(bitPattern: connection) == ended else { return }
        reopening = Task {
            await end()
            while !handlers.isStopped.withLock({ $0 }) {
                let duration = Self.retryCap / 2 + .random(in: 0...Self.retryCap / 2)
                let pause = Task { _ = try? await Task.sleep(for: .milliseconds(duration)) }
                self.pause = pause
                await pause.value
                guard !handlers.isStopped.withLock({ $0 }) else { return }
                do throws(NATSError) {
                    if try connect(isRetried: true) { unsafe handlers.recover(connection) }
                    return
                } catch { handlers.lose(error.description) }
            }
        }
    }

    /// Returns whether the server is connected; if not, it is attempted again.
    private func connect(isRetried: Bool) throws(NATSError) -> Bool {
        let options = try unsafe options()
        defer { unsafe natsOptions_Destroy(options) }
        // The callback of the end releases it.
        let context = unsafe Unmanaged.passRetained(handlers).toOpaque()
        unsafe natsOptions_SetClosedCB(options, NATSHandlers.closed, context)
        unsafe natsOptions_SetDisconnectedCB(options, NATSHandlers.disconnected, context)
        unsafe natsOptions_SetReconnectedCB(options, NATSHandlers.reconnected, context)
        if isRetried { unsafe natsOptions_SetRetryOnFailedConnect(options, true, NATSHandlers.reconnected, context) }
        let status = unsafe natsConnection_Connect(&connection, options)
        guard status == NATS_OK || status == NATS_NOT_YET_CONNECTED else {
            let error = NATSError.unavailable(Self.text(of: status))
            // A connection that is retried may yet call back.
            if !isRetried { unsafe Unmanaged<NATSHandlers>.fromOpaque(context).release() }
            throw error
        }
        if status != NATS_OK, !handlers.isLost { handlers.lose(Self.text(of: status)) }
        do throws(NATSError) { try subscribe() } catch {
            guard isRetried else { throw error }
            // The server has refused the credentials meanwhile. The callback of the end opens the connection again.
            unsafe natsConnection_Close(connection)
            return false
        }
        return status == NATS_OK
    }

    private func subscribe() throws(NATSError) {
        let context = unsafe Unmanaged.passRetained(handlers).toOpaque()
        let status = unsafe natsConnection_Subscribe(
            &subscription, connection, settings.configuration.subject, NATSHandlers.received, context)
        guard status == NATS_OK,
            unsafe natsSubscription_SetOnCompleteCB(subscription, NATSHandlers.completed, context) == NATS_OK
        else {
            unsafe natsSubscription_Destroy(subscription)
            unsafe subscription = nil
            unsafe Unmanaged<NATSHandlers>.fromOpaque(context).release()
            throw .unavailable(Self.text(of: status))
        }
        unsafe natsSubscription_SetPendingLimits(subscription, Self.maxPendingCount, Self.maxPendingByteCount)
    }

    private func options() throws(NATSError) -> OpaquePointer? {
        var options: OpaquePointer?
        guard unsafe natsOptions_Create(&options) == NATS_OK else { throw .unavailable("no memory") }
        do throws(NATSError) {
            try unsafe set(options)
        } catch {
            unsafe natsOptions_Destroy(options)
            throw error
        }
        return unsafe options
    }

    private func set(_ options: OpaquePointer?) throws(NATSError) {
        let list = settings.servers.joined(separator: ",")
        guard unsafe natsOptions_SetURL(options, list) == NATS_OK else { throw .invalidURL }
        let configuration = settings.configuration
        if settings.isSecure {
            let status = unsafe natsOptions_SetSecure(options, true)
            guard status == NATS_OK else { throw .unavailable(Self.text(of: status)) }
        }
        if let path = configuration.authorities {
            let status = unsafe natsOptions_LoadCATrustedCertificates(options, path)
            guard status == NATS_OK else { throw .invalidFile(path: path, Self.text(of: status)) }
        }
        if let path = configuration.credentials {
            let status = unsafe natsOptions_SetUserCredentialsFromFiles(options, path, nil)
            guard status == NATS_OK else { throw .invalidFile(path: path, Self.text(of: status)) }
        }
        unsafe natsOptions_SetName(options, "martlet")
        unsafe natsOptions_SetTimeout(options, Self.timeout)
        unsafe natsOptions_SetWriteDeadline(options, Self.timeout)
        // Each datagram is written on the loop. A thread of the library would write it a millisecond later.
        unsafe natsOptions_SetSendAsap(options, true)
        unsafe natsOptions_SetPingInterval(options, Self.pingInterval)
        unsafe natsOptions_SetMaxPingsOut(options, 2)
        unsafe natsOptions_SetNoEcho(options, true)
        unsafe natsOptions_SetMaxReconnect(options, -1)
        unsafe natsOptions_SetReconnectBufSize(options, Self.maxReconnectByteCount)
        unsafe natsOptions_SetCustomReconnectDelay(
            options,
            { _, attempts, _ in
                let pause = min(
                    NATSConnection.retryCap,
                    NATSConnection.retryBase << Int64(min(max(attempts, 0), NATSConnection.maxDoublingCount)))
                return pause / 2 + .random(in: 0...pause / 2)
            }, nil)
        // By default errors are written to standard error.
        unsafe natsOptions_SetErrorHandler(options, { _, _, _, _ in }, nil)
    }

    /// Checks that the subject is permitted.
    func check() throws(NATSError) {
        publish([[]])
        let status = unsafe natsConnection_FlushTimeout(connection, Self.timeout)
        var text: UnsafePointer<CChar>?
        let last = unsafe natsConnection_GetLastError(connection, &text)
        if last == NATS_NOT_PERMITTED {
            throw .notPermitted(unsafe text.map { unsafe String(cString: $0) } ?? "")
        }
        guard status == NATS_OK else { throw .unavailable(Self.text(of: status)) }
    }

    /// Publishes datagrams. Those that the library does not take are lost.
    func publish(_ datagrams: [[UInt8]]) {
        guard unsafe connection != nil else { return }
        for datagram in datagrams {
            unsafe datagram.withUnsafeBytes { bytes in
                _ = unsafe natsConnection_Publish(
                    connection, settings.configuration.subject, bytes.baseAddress, Int32(bytes.count))
            }
        }
    }

    /// Waits until the server has what was published, for at most `flushTimeout`.
    func flush() {
        guard unsafe connection != nil else { return }
        _ = unsafe natsConnection_FlushTimeout(connection, Self.flushTimeout)
    }

    /// Ends the connection, and waits for the end of its threads.
    func close() async {
        handlers.receiver.withLock { $0 = nil }
        handlers.isStopped.withLock { $0 = true }
        pause?.cancel()
        await reopening?.value
        await end()
    }

    private func end() async {
        guard let ended = unsafe connection else { return }
        let subscribed = unsafe subscription
        unsafe (connection, subscription) = (nil, nil)
        unsafe natsConnection_Close(ended)
        var callbacks = handlers.ends.makeAsyncIterator()
        for _ in 0..<(unsafe subscribed == nil ? 1 : 2) { await callbacks.next() }
        unsafe natsSubscription_Destroy(subscribed)
        unsafe natsConnection_Destroy(ended)
    }

    private static func text(of status: natsStatus) -> String {
        // The text is empty if the library has none.
        let text = unsafe nats_GetLastError(nil).map { unsafe String(cString: $0) } ?? ""
        return text.isEmpty ? unsafe String(cString: natsStatus_GetText(status)) : text
    }
}

/// The recipient of datagrams. A structure, because a generic lock wraps a function once more at each access.
struct NATSReceiver: Sendable {
    let take: @Sendable ([UInt8]) -> Void
}

/// What follows the end of a connection. A structure for the same reason.
struct NATSAction: Sendable {
    let perform: @Sendable (UInt) -> Void
}

/// The callbacks of a connection, on threads of libnats.
final class NATSHandlers: Sendable {
    let receiver = Guarded<NATSReceiver?>(nil)
    let ended = Guarded<NATSAction?>(nil)
    private let onEvent: @Sendable (NATSEvent) -> Void
    /// The maximum number of reasons that are reported until the server is connected again.
    private static let maxReasonCount = 8
    /// The reasons that were reported since the server was connected.
    private let reported = Guarded<[String]>([])
    let maxDatagramByteCount = Guarded(0)
    let isStopped = Guarded(false)
    /// An element for the end of the connection, and for that of the subscription.
    let ends: AsyncStream<Void>
    private let continuation: AsyncStream<Void>.Continuation

    init(_ onEvent: @escaping @Sendable (NATSEvent) -> Void) {
        self.onEvent = onEvent
        (ends, continuation) = AsyncStream.makeStream()
    }

    private static func borrowed(_ context: UnsafeMutableRawPointer?) -> NATSHandlers? {
        unsafe context.map { unsafe Unmanaged<NATSHandlers>.fromOpaque($0).takeUnretainedValue() }
    }

    private static func end(_ context: UnsafeMutableRawPointer?) {
        guard let context = unsafe context else { return }
        unsafe Unmanaged<NATSHandlers>.fromOpaque(context).takeRetainedValue().continuation.yield()
    }

    static let received: natsMsgHandler = { _, _, message, context in
        defer { unsafe natsMsg_Destroy(message) }
        guard let receiver = unsafe borrowed(context)?.receiver.withLock({ $0 }) else { return }
        let bytes = unsafe Array(
            UnsafeRawBufferPointer(start: natsMsg_GetData(message), count: Int(natsMsg_GetDataLength(message))))
        // A check of the subject sends no bytes.
        if !bytes.isEmpty { receiver.take(bytes) }
    }

    static let closed: natsConnectionHandler = { connection, context in
        if let handlers = unsafe borrowed(context), !handlers.isStopped.withLock({ $0 }) {
            unsafe handlers.lose(reason(connection))
            handlers.ended.withLock { $0 }?.perform(UInt(bitPattern: connection))
        }
        unsafe end(context)
    }

    static let completed: natsOnCompleteCB = { context in unsafe end(context) }

    static let disconnected: natsConnectionHandler = { connection, context in
        guard let handlers = unsafe borrowed(context), !handlers.isStopped.withLock({ $0 }) else { return }
        unsafe handlers.lose(reason(connection))
    }

    /// The reason for which a connection has ended.
    private static func reason(_ connection: OpaquePointer?) -> String {
        var text: UnsafePointer<CChar>?
        let status = unsafe natsConnection_GetLastError(connection, &text)
        // The text is empty if the library has none.
        let reason = unsafe text.map { unsafe String(cString: $0) } ?? ""
        let name = unsafe String(cString: natsStatus_GetText(status == NATS_OK ? NATS_CONNECTION_DISCONNECTED : status))
        return reason.isEmpty ? name : reason
    }

    /// Whether a loss was reported since the server was connected.
    var isLost: Bool { reported.withLock { !$0.isEmpty } }

    /// Reports the loss of the server, once for a reason.
    func lose(_ reason: String) {
        let isNew = reported.withLock { reasons in
            guard reasons.count < Self.maxReasonCount, !reasons.contains(reason) else { return false }
            reasons.append(reason)
            return true
        }
        if isNew { onEvent(.lost(reason)) }
    }

    static let reconnected: natsConnectionHandler = { connection, context in
        unsafe borrowed(context)?.recover(connection)
    }

    /// Reports that the server is connected again.
    func recover(_ connection: OpaquePointer?) {
        reported.withLock { $0 = [] }
        let payload = Int(clamping: unsafe natsConnection_GetMaxPayload(connection))
        let needed = maxDatagramByteCount.withLock { $0 }
        onEvent(payload < needed ? .payloadTooSmall(.payloadTooSmall(byteCount: payload, needed: needed)) : .recovered)
    }
}
