import MartletTransport
import MartletWire

/// The TCP connections of a capture: gives each packet to its own, and forgets those that are over when there are too
/// many.
///
/// A connection is read as Martlet when its bytes begin with the magic, or when it has one of the ports that were
/// named; any other is passed over.
final class ConversationTable {
    /// The most connections at once.
    static let maxCount = 16_384
    /// The most bytes that wait, in all connections, for segments that come late.
    static let maxHeldByteCount = 64 << 20

    /// What was seen, for a summary.
    struct Totals: Equatable, Sendable {
        var packetCount = 0
        /// Packets that are no TCP, or no whole IP packet.
        var passedOverCount = 0
        /// Connections with Martlet in them.
        var connectionCount = 0
        /// Connections with something else in them.
        var foreignCount = 0
    }

    private struct Key: Hashable {
        var first: SocketAddress
        var second: SocketAddress

        /// The same for both ways.
        init(_ segment: TCPSegment) {
            let source = segment.source
            let destination = segment.destination
            let isInOrder = source.ip == destination.ip ? source.port < destination.port : source.ip < destination.ip
            (first, second) = isInOrder ? (source, destination) : (destination, source)
        }
    }

    private let ports: Set<UInt16>
    private let assumptions: Exchange.Assumptions
    private let emit: (DecodeEvent) -> Void
    private let links = LinkTable()
    private var conversations: [Key: Conversation] = [:]
    private var heldByteCount = 0
    private(set) var totals = Totals()

    /// How many connections are remembered.
    var count: Int { conversations.count }

    /// A table without a connection. Those on `ports` are Martlet whatever they say.
    init(
        ports: Set<UInt16>, assuming assumptions: Exchange.Assumptions = Exchange.Assumptions(),
        _ emit: @escaping (DecodeEvent) -> Void
    ) {
        self.ports = ports
        self.assumptions = assumptions
        self.emit = emit
    }

    /// Takes the next packet of the capture.
    func receive(_ packet: CapturedPacket) {
        totals.packetCount += 1
        guard case .segment(let segment) = TCPSegment.parse(packet) else {
            totals.passedOverCount += 1
            return
        }
        let key = Key(segment)
        let isNew = segment.flags.contains(.syn) && !segment.flags.contains(.ack)
        if let conversation = conversations[key], !(isNew && conversation.isOver) {
            return give(segment, to: conversation, packet.time)
        }
        if conversations.count >= Self.maxCount, conversations[key] == nil { makeRoom() }
        let conversation = Conversation(birth: totals.packetCount, opening: segment, ports: ports, links, assumptions) {
            [unowned self] in
            switch $0 {
            case .ours:
                totals.connectionCount += 1
                return totals.connectionCount
            case .foreign:
                totals.foreignCount += 1
                return 0
            }
        } _: { [emit] in
            emit($0)
        }
        if let old = conversations[key] { forget(old) }
        conversations[key] = conversation
        give(segment, to: conversation, packet.time)
    }

    private func give(_ segment: TCPSegment, to conversation: Conversation, _ time: UInt64) {
        heldByteCount -= conversation.heldByteCount
        conversation.receive(segment, time: time)
        if heldByteCount + conversation.heldByteCount > Self.maxHeldByteCount { conversation.breakOff() }
        heldByteCount += conversation.heldByteCount
    }

    private func forget(_ conversation: Conversation) {
        heldByteCount -= conversation.heldByteCount
        conversation.finish()
    }

    /// The capture is over.
    func finish() {
        for conversation in conversations.values.sorted(by: { $0.number < $1.number }) { conversation.finish() }
        conversations = [:]
    }

    private func makeRoom() {
        for (key, conversation) in conversations where conversation.isOver {
            forget(conversation)
            conversations[key] = nil
        }
        // Nobody has so many at once; the oldest go, many together, since to find them costs something.
        guard conversations.count >= Self.maxCount else { return }
        let oldest = conversations.sorted { $0.value.birth < $1.value.birth }.prefix(Self.maxCount / 8)
        for (key, conversation) in oldest {
            forget(conversation)
            conversations[key] = nil
        }
    }
}
