public import MartletRelay
import MartletTransport

/// The bus of relays over core NATS: one subject, to which each relay publishes and subscribes.
///
/// Datagrams are lost while the server is away, and when it or the relay is too slow. The connection is attempted again
/// for ever, also if the server refuses the credentials, whose file is read again.
///
/// | state | owns | ends |
/// |---|---|---|
/// | open | a thread that sends, a connection with the threads of libnats | `stop`, or no reference |
/// | stopped | nothing | never |
public final class NATSBus: RelayBus {
    /// How a bus uses its server.
    public struct Configuration: Sendable {
        /// The subject of the relays that share a store. Relays of different stores need different ones.
        public var subject = "martlet.bus"
        /// The file of a user's JWT and seed, as `nsc` writes it; nil for the user or token in the URL, if any.
        public var credentials: String?
        /// The file of certificates by which the server's is checked; nil for those of the system.
        public var authorities: String?

        /// Creates the default configuration.
        public init() {}
    }

    /// The maximum number of bytes of a datagram, unless the server's `max_payload` is less.
    static let maxDatagramByteCount = 64 * 1024

    private let loop: EventLoop
    private let connection: NATSConnection
    private let datagrams = Guarded(DatagramQueue())
    /// 64 KiB, or the server's `max_payload` if it is less; the minimum of every bus if the server was away at the
    /// start.
    public let maxDatagramByteCount: Int

    /// Connects to a server. One that is away is attempted again later.
    ///
    /// - Parameter url: nats://HOST:PORT, or tls://HOST:PORT, with USER:PASSWORD@ or TOKEN@ before the host; several
    ///   servers are separated by commas.
    /// - Throws: `NATSError`, or an error of the system without threads.
    public init(
        _ url: String, configuration: Configuration = Configuration(),
        onEvent: @escaping @Sendable (NATSEvent) -> Void = { _ in }
    ) async throws {
        let settings = try NATSSettings(url, configuration)
        loop = try EventLoop(name: "martlet-nats")
        connection = NATSConnection(settings, on: loop, onEvent)
        do {
            maxDatagramByteCount = try await connection.open(isRetried: true)
        } catch {
            await connection.close()
            await loop.shutdown()
            throw error
        }
    }

    deinit {
        Task { [connection, loop] in
            await connection.close()
            await loop.shutdown()
        }
    }

    /// Whether a text begins like a URL of NATS.
    public static func isURL(_ text: String) -> Bool { text.hasPrefix("nats://") || text.hasPrefix("tls://") }

    /// Checks a URL and a configuration without a connection.
    public static func checkURL(_ url: String, configuration: Configuration = Configuration()) throws(NATSError) {
        _ = try NATSSettings(url, configuration)
    }

    /// Checks that a server is reachable, carries the datagrams of a bus, and permits the subject.
    ///
    /// - Throws: `NATSError`, or an error of the system without threads.
    public static func check(_ url: String, configuration: Configuration = Configuration()) async throws {
        let settings = try NATSSettings(url, configuration)
        let loop = try EventLoop(name: "martlet-nats")
        let connection = NATSConnection(settings, on: loop) { _ in }
        var failure: NATSError?
        do throws(NATSError) {
            _ = try await connection.open(isRetried: false)
            try await connection.check()
        } catch { failure = error }
        await connection.close()
        await loop.shutdown()
        if let failure { throw failure }
    }

    /// Begins to pass the datagrams of other relays to `receive`, on a thread of libnats.
    public func start(_ receive: @escaping @Sendable ([UInt8]) -> Void) { connection.receive(receive) }

    /// Sends datagrams on the thread of the bus. Beyond the bound of its queue the oldest are dropped.
    public func send(_ datagrams: [[UInt8]]) {
        let isFirst = self.datagrams.withLock { queue in
            defer { queue.add(datagrams, maxDatagramByteCount: maxDatagramByteCount) }
            return queue.isEmpty
        }
        if isFirst { loop.execute { [weak self] in self?.publish() } }
    }

    private func publish() {
        while true {
            let taken = datagrams.withLock { $0.take() }
            guard !taken.isEmpty else { return }
            connection.assumeIsolated { $0.publish(taken) }
        }
    }

    /// Sends what waits, within a second, and ends the connection and the thread.
    public func stop() async {
        await connection.flush()
        datagrams.withLock { $0.removeAll() }
        await connection.close()
        await loop.shutdown()
    }
}
