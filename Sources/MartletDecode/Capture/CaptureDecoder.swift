internal import MartletTransport
internal import MartletWire

/// Decodes the TCP connections of a capture.
///
/// A connection is decoded if its bytes begin with the magic of Martlet, or if one of its ports is a known server port.
/// Other connections are skipped. The decoder reassembles segments, inflates and joins frames, and follows links over
/// their connections.
///
/// ```swift
/// let decoder = CaptureDecoder { event in print(event) }
/// try decoder.decode(CaptureReader(path: "link.pcap"))
/// ```
///
/// A decoder can be used by one thread at a time.
public final class CaptureDecoder {
    /// The maximum number of connections in memory. Beyond it, ended connections are removed, then the oldest ones.
    public static let maxConnectionCount = 16_384
    /// The known server ports, unless others are specified.
    public static let defaultPorts: Set<UInt16> = [Endpoint.defaultPort]
    /// The maximum number of bytes held behind gaps, over all connections.
    public static let maxHeldByteCount = 64 << 20

    /// Counters of the contents of a capture.
    public struct Totals: Equatable, Sendable {
        /// The number of packets of any type.
        public var packetCount = 0
        /// The number of packets that are not TCP or are incomplete.
        public var skippedCount = 0
        /// The number of Martlet connections.
        public var connectionCount = 0
        /// The number of connections with another protocol.
        public var foreignCount = 0
    }

    private struct Key: Hashable {
        var first: SocketAddress
        var second: SocketAddress

        /// Creates the key, which is the same for both directions.
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
    public let links = LinkHistories()
    /// The counters of the packets received so far.
    public private(set) var totals = Totals()

    /// The number of connections in memory.
    var count: Int { connections.count }

    /// Creates a decoder.
    ///
    /// - Parameters:
    ///   - ports: The known server ports. Connections to them are decoded without a check of their first bytes.
    ///   - assumptions: The properties of connections whose handshake is not in the capture.
    ///   - onEvent: A closure that receives the events.
    public init(
        ports: Set<UInt16> = CaptureDecoder.defaultPorts,
        assuming assumptions: ConnectionDecoder.Assumptions = ConnectionDecoder.Assumptions(),
        onEvent: @escaping (DecodeEvent) -> Void
    ) {
        self.ports = ports
        self.assumptions = assumptions
        self.onEvent = onEvent
    }

    /// Decodes all packets of a capture file and finishes. If the file ends inside a packet, a note is the last event.
    ///
    /// - Throws: ``CaptureError/malformed(packetCount:reason:)``, after the packets before the fault were decoded.
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
            return deliver(segment, to: connection, packet.time)
        }
        if connections.count >= Self.maxConnectionCount, connections[key] == nil { evict() }
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
        if let old = connections[key] { finish(old) }
        connections[key] = connection
        deliver(segment, to: connection, packet.time)
    }

    private func deliver(_ segment: TCPSegment, to connection: CapturedConnection, _ time: UInt64) {
        heldByteCount -= connection.heldByteCount
        connection.receive(segment, time: time)
        if heldByteCount + connection.heldByteCount > Self.maxHeldByteCount { connection.endAtGap() }
        heldByteCount += connection.heldByteCount
    }

    private func finish(_ connection: CapturedConnection) {
        heldByteCount -= connection.heldByteCount
        connection.finish()
    }

    /// Ends the capture. Incomplete frames are reported as notes.
    public func finish() {
        for connection in connections.values.sorted(by: {
            ($0.number, $0.firstPacketNumber) < ($1.number, $1.firstPacketNumber)
        }) { connection.finish() }
        connections = [:]
    }

    private func evict() {
        for (key, connection) in connections where connection.isOver {
            finish(connection)
            connections[key] = nil
        }
        // A sort finds the oldest connections, so that an eighth of them is removed at once.
        guard connections.count >= Self.maxConnectionCount else { return }
        let oldest = connections.sorted { $0.value.firstPacketNumber < $1.value.firstPacketNumber }.prefix(
            Self.maxConnectionCount / 8)
        for (key, connection) in oldest {
            finish(connection)
            connections[key] = nil
        }
    }
}
