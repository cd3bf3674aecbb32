internal import MartletTransport
internal import MartletWire

/// Decodes the TCP connections of a capture.
///
/// A connection is decoded when its bytes begin with the magic of Martlet, or when it has one of the known ports; any
/// other is passed over. Segments are reassembled, frames inflated and joined, and links followed over their
/// connections.
///
/// ```swift
/// let decoder = CaptureDecoder { event in print(event) }
/// try decoder.decode(CaptureReader(path: "link.pcap"))
/// ```
///
/// A decoder is used from one thread at a time.
public final class CaptureDecoder {
    /// The most connections remembered; beyond it those that are over are forgotten, then the oldest ones.
    public static let maxConnectionCount = 16_384
    /// The port on which servers listen unless another one is named.
    public static let defaultPorts: Set<UInt16> = [Endpoint.defaultPort]
    /// The most bytes held behind gaps, in all connections.
    public static let maxHeldByteCount = 64 << 20

    /// Counts of what the capture contained.
    public struct Totals: Equatable, Sendable {
        /// Packets, of any kind.
        public var packetCount = 0
        /// Packets that are not TCP, or not whole.
        public var skippedCount = 0
        /// Connections with Martlet in them.
        public var connectionCount = 0
        /// Connections with something else in them.
        public var foreignCount = 0
    }

    private struct Key: Hashable {
        var first: SocketAddress
        var second: SocketAddress

        /// The same for both directions.
        init(_ segment: TCPSegment) {
            let source = segment.source
            let destination = segment.destination
            let isInOrder = source.ip == destination.ip ? source.port < destination.port : source.ip < destination.ip
            (first, second) = isInOrder ? (source, destination) : (destination, source)
        }
    }

    private let ports: Set<UInt16>
    private let assumptions: ConnectionDecoder.Assumptions
    private let onEvent: (DecodeEvent) -> Void
    private var connections: [Key: CapturedConnection] = [:]
    private var heldByteCount = 0
    /// The histories of the links in the capture.
    public let links = LinkTable()
    /// Counts of what the capture contained so far.
    public private(set) var totals = Totals()

    /// How many connections are remembered.
    var count: Int { connections.count }

    /// Creates a decoder before the first packet.
    ///
    /// - Parameters:
    ///   - ports: server ports. Connections to them are decoded without a check of their first bytes.
    ///   - assumptions: what holds for connections whose handshake is not in the capture.
    ///   - onEvent: receives what is decoded.
    public init(
        ports: Set<UInt16> = CaptureDecoder.defaultPorts,
        assuming assumptions: ConnectionDecoder.Assumptions = ConnectionDecoder.Assumptions(),
        onEvent: @escaping (DecodeEvent) -> Void
    ) {
        self.ports = ports
        self.assumptions = assumptions
        self.onEvent = onEvent
    }

    /// Decodes all packets of a capture file and finishes. A file that ends inside a packet is decoded up to there,
    /// with a note.
    ///
    /// - Throws: ``CaptureError/malformed(packetCount:reason:)``, after the packets before it have been decoded.
    public func decode(_ reader: CaptureReader) throws(CaptureError) {
        var failure: CaptureError?
        do throws(CaptureError) {
            while let packet = try reader.next() { receive(packet) }
        } catch { failure = error }
        finish()
        guard let failure else { return }
        guard case .truncated = failure else { throw failure }
        onEvent(.note(StreamPosition(connection: 0), failure.description))
    }

    /// Receives the next packet of the capture.
    public func receive(_ packet: CapturedPacket) {
        totals.packetCount += 1
        guard case .segment(let segment) = TCPSegment.parse(packet) else {
            totals.skippedCount += 1
            return
        }
        let key = Key(segment)
        let isNew = segment.flags.contains(.syn) && !segment.flags.contains(.ack)
        if let connection = connections[key], !(isNew && connection.isOver) {
            return give(segment, to: connection, packet.time)
        }
        if connections.count >= Self.maxConnectionCount, connections[key] == nil { makeRoom() }
        let connection = CapturedConnection(
            firstPacketNumber: totals.packetCount, opening: segment, ports: ports, links, assumptions
        ) {
            [unowned self] in
            switch $0 {
            case .martlet:
                totals.connectionCount += 1
                return totals.connectionCount
            case .foreign:
                totals.foreignCount += 1
                return 0
            }
        } onEvent: { [onEvent] in
            onEvent($0)
        }
        if let old = connections[key] { forget(old) }
        connections[key] = connection
        give(segment, to: connection, packet.time)
    }

    private func give(_ segment: TCPSegment, to connection: CapturedConnection, _ time: UInt64) {
        heldByteCount -= connection.heldByteCount
        connection.receive(segment, time: time)
        if heldByteCount + connection.heldByteCount > Self.maxHeldByteCount { connection.breakOff() }
        heldByteCount += connection.heldByteCount
    }

    private func forget(_ connection: CapturedConnection) {
        heldByteCount -= connection.heldByteCount
        connection.finish()
    }

    /// Ends the capture: incomplete frames become notes.
    public func finish() {
        for connection in connections.values.sorted(by: { $0.number < $1.number }) { connection.finish() }
        connections = [:]
    }

    private func makeRoom() {
        for (key, connection) in connections where connection.isOver {
            forget(connection)
            connections[key] = nil
        }
        // The oldest eighth goes at once, since finding them sorts all.
        guard connections.count >= Self.maxConnectionCount else { return }
        let oldest = connections.sorted { $0.value.firstPacketNumber < $1.value.firstPacketNumber }.prefix(
            Self.maxConnectionCount / 8)
        for (key, connection) in oldest {
            forget(connection)
            connections[key] = nil
        }
    }
}
