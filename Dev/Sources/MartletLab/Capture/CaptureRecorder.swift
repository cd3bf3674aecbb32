import MartletTransport
import MartletWire

/// The recorder of a link's connections: it captures bytes at the time of their arrival.
///
/// States of a connection: unknown until it is opened, then recorded until it is closed. Bytes in flight at the time of
/// a cut do not arrive and are not recorded.
struct CaptureRecorder: Sendable {
    /// The start of the link, in nanoseconds since 1970.
    let begin: UInt64
    private var connections: [WeakLink.ConnectionNumber: SyntheticTCP] = [:]
    /// The packets that have not been written to the file.
    private var unwritten: [UInt8] = []

    init(begin: UInt64) {
        self.begin = begin
    }

    /// Returns and removes the packets since the last call.
    mutating func takeBytes() -> [UInt8] {
        defer { unwritten.removeAll(keepingCapacity: true) }
        return unwritten
    }

    /// Records that a connection has reached its target, at a time since the start of the link.
    mutating func open(
        _ number: WeakLink.ConnectionNumber, from client: SocketAddress, to server: SocketAddress, now: Duration
    ) {
        var connection = SyntheticTCP(from: client, to: server, seed: UInt64(number))
        record(connection.open(), now)
        connections[number] = connection
    }

    /// Records bytes that have arrived.
    mutating func carry(
        _ bytes: RawSpan, _ number: WeakLink.ConnectionNumber, _ direction: WeakLink.Direction, now: Duration
    ) {
        guard bytes.byteCount > 0, let index = connections.index(forKey: number) else { return }
        record(connections.values[index].send(bytes, from: direction == .up ? 0 : 1), now)
    }

    /// Records the end of one direction of a connection.
    mutating func end(_ number: WeakLink.ConnectionNumber, _ direction: WeakLink.Direction, now: Duration) {
        guard let index = connections.index(forKey: number) else { return }
        record(connections.values[index].end(direction == .up ? 0 : 1), now)
    }

    /// Records the end of a connection. A direction that has not ended before is recorded as cut.
    mutating func close(_ number: WeakLink.ConnectionNumber, now: Duration) {
        guard var connection = connections.removeValue(forKey: number) else { return }
        record(connection.reset(), now)
    }

    /// Records the end of all connections.
    mutating func closeAll(now: Duration) {
        for number in connections.keys.sorted() { close(number, now: now) }
    }

    private mutating func record(_ packets: [[UInt8]], _ now: Duration) {
        let time = begin + UInt64(clamping: Int64((now / .nanoseconds(1)).rounded()))
        for packet in packets { PcapWriter.append(packet, at: time, to: &unwritten) }
    }
}
