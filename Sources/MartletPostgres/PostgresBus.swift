public import MartletRelay

/// The bus of relays that share a database: `LISTEN` and `NOTIFY` on a channel of the store's schema.
///
/// The datagrams of a turn are one transaction, and the server orders the transactions of all relays. A datagram that
/// cannot be sent or received is lost.
public final class PostgresBus: RelayBus {
    /// The number of bytes whose Base64 is shorter than the bound of a notification, 8,000 bytes.
    static let maxDatagramByteCount = 5997

    private let listener: PostgresListener

    init(_ listener: PostgresListener) { self.listener = listener }

    /// 5,997 bytes.
    public var maxDatagramByteCount: Int { Self.maxDatagramByteCount }

    /// Begins to pass the datagrams of other stores to `receive`, on the loop of the store.
    public func start(_ receive: @escaping @Sendable ([UInt8]) -> Void) { listener.receive(receive) }

    /// Sends datagrams when the connection is free.
    public func send(_ datagrams: [[UInt8]]) { listener.send(datagrams) }

    /// Sends what waits, within a second, and ends the calls of `receive`. The connection belongs to the store.
    public func stop() async {
        await listener.flush()
        await listener.endReceiving()
    }
}
