/// The bus between relays that share a store: it carries datagrams from each relay to all others, each at most once, in
/// any order.
///
/// A relay keeps no state that depends on the delivery of a datagram. A bus that loses many of them delays presence,
/// receipts and answers; messages arrive by the store. The relay authenticates the datagrams if the store has a key
/// (`RoomStore.beginBus`).
public protocol RelayBus: Sendable {
    /// The maximum number of bytes of a datagram, at least `RelayBusBounds.minDatagramByteCount`. Constant.
    var maxDatagramByteCount: Int { get }

    /// Begins to pass the datagrams of other relays to `receive`, on any thread, but not within a call of `send`. The
    /// relay's own datagrams may be among them. The relay calls the method once, when it starts.
    func start(_ receive: @escaping @Sendable ([UInt8]) -> Void)

    /// Sends datagrams, of at most `maxDatagramByteCount` bytes each. The method is called on loops of the relay and on
    /// threads of the bus, one call after another, and must not wait. A bus that cannot send loses datagrams.
    func send(_ datagrams: [[UInt8]])

    /// Sends what waits, as far as that takes a second at most, ends the calls of `receive`, and releases what the bus
    /// uses.
    func stop() async
}

/// Bounds of every bus.
public enum RelayBusBounds {
    /// The number of bytes that each bus carries in one datagram. Base64 turns it into 5,464 characters, which fit into
    /// a `NOTIFY` of PostgreSQL.
    public static let minDatagramByteCount = 4096
}
