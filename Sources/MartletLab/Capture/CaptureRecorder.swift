import MartletTransport
import MartletWire

/// Connections through a link as a capture: every byte when it arrives, as it arrives.
///
/// States of a connection: unknown until it is opened, then recorded until it is closed. What was on its way when it
/// was cut never arrived, so it is not there.
struct CaptureRecorder: Sendable {
    /// Nanoseconds since 1970 when the link began.
    let begin: UInt64
    private var connections: [WeakLink.ConnectionNumber: SyntheticTCP] = [:]
    /// What is to be written next.
    private var unwritten: [UInt8] = []

    init(begin: UInt64) {
        self.begin = begin
    }

    /// What was recorded since the last time.
    mutating func takeBytes() -> [UInt8] {
        defer { unwritten.removeAll(keepingCapacity: true) }
        return unwritten
    }

    /// A connection has reached its target, at a time since the link began.
    mutating func open(
        _ number: WeakLink.ConnectionNumber, from client: SocketAddress, to server: SocketAddress, now: Duration
    ) {
        var connection = SyntheticTCP(from: client, to: server, seed: UInt64(number))
        record(connection.open(), now)
        connections[number] = connection
    }

    /// Bytes have arrived.
    mutating func carry(
        _ bytes: RawSpan, _ number: WeakLink.ConnectionNumber, _ direction: WeakLink.Direction, now: Duration
    ) {
        guard bytes.byteCount > 0, let index = connections.index(forKey: number) else { return }
        record(connections.values[index].send(bytes, from: direction == .up ? 0 : 1), now)
    }

    /// The end of a way has arrived.
    mutating func end(_ number: WeakLink.ConnectionNumber, _ direction: WeakLink.Direction, now: Duration) {
        guard let index = connections.index(forKey: number) else { return }
        record(connections.values[index].end(direction == .up ? 0 : 1), now)
    }

    /// The connection is over; where its ways have not ended it was cut.
    mutating func close(_ number: WeakLink.ConnectionNumber, now: Duration) {
        guard var connection = connections.removeValue(forKey: number) else { return }
        record(connection.reset(), now)
    }

    /// Everything is over.
    mutating func closeAll(now: Duration) {
        for number in connections.keys.sorted() { close(number, now: now) }
    }

    private mutating func record(_ packets: [[UInt8]], _ now: Duration) {
        let time = begin + UInt64(clamping: Int64((now / .nanoseconds(1)).rounded()))
        for packet in packets { PcapWriter.append(packet, at: time, to: &unwritten) }
    }
}
