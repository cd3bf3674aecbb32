import MartletTransport
import MartletWire

/// One TCP connection of a capture, until its first bytes tell whether it is Martlet, and then what it says.
final class Conversation {
    /// What a connection's first bytes are.
    enum Kind {
        case ours, foreign
    }

    /// The number of its first packet in the capture.
    let birth: Int
    /// Who sent that packet.
    private let opener: SocketAddress
    /// Whether it has a port of ours, so that anything else in it is a fault.
    private let isKnown: Bool
    private let links: LinkTable
    private let assumptions: Exchange.Assumptions
    private let count: (Kind) -> Int
    private let emit: (DecodeEvent) -> Void
    private var ways = [TCPWay(), TCPWay()]
    private var clientWay: Int?
    private var exchange: Exchange?
    private var isForeign = false
    private var wasReset = false
    /// Ways whose bytes are no frames from the start, or no longer.
    private var unread: Set<Int> = []
    private var finished: Set<Int> = []
    /// The connection's number in the capture; 0 until it is known to be one of ours.
    private(set) var number = 0

    /// A connection that begins with this segment. A server listens on one of `ports`, if it can be told by that.
    /// `count` gives the connection its number, once its kind is known.
    init(
        birth: Int, opening segment: TCPSegment, ports: Set<UInt16>, _ links: LinkTable,
        _ assumptions: Exchange.Assumptions,
        _ count: @escaping (Kind) -> Int, _ emit: @escaping (DecodeEvent) -> Void
    ) {
        self.birth = birth
        opener = segment.source
        self.links = links
        self.assumptions = assumptions
        self.count = count
        self.emit = emit
        let isServer = ports.contains(segment.source.port)
        isKnown = isServer || ports.contains(segment.destination.port)
        if segment.flags.contains(.syn) {
            clientWay = segment.flags.contains(.ack) ? 1 : 0
        } else if isKnown {
            clientWay = isServer ? 1 : 0
        }
    }

    /// How many bytes wait for others to come before them.
    var heldByteCount: Int { ways[0].heldByteCount + ways[1].heldByteCount }

    /// Gives up what waits.
    func breakOff() {
        for index in 0...1 where ways[index].hasHole { tellHole(index) }
    }

    /// Whether nothing more is expected, but for what comes again.
    var isOver: Bool { wasReset || ways.allSatisfy { $0.hasEnded || $0.isBroken } }

    /// Takes its next segment.
    func receive(_ segment: TCPSegment, time: UInt64) {
        let index = segment.source == opener ? 0 : 1
        if segment.flags.contains(.rst) { wasReset = true }
        let wasBroken = ways[index].isBroken
        let bytes = ways[index].take(segment)
        if !bytes.isEmpty, !isForeign, !unread.contains(index) { read(bytes, index, time) }
        if ways[index].isBroken, !wasBroken { tellHole(index) }
        if ways[index].hasEnded, finished.insert(index).inserted { exchange?.finish(index, time: time) }
    }

    /// Nothing more comes.
    func finish() {
        for index in 0...1 where !ways[index].hasEnded && !unread.contains(index) {
            if ways[index].hasHole {
                tellHole(index)
            } else {
                exchange?.abandon(index, wasReset ? "the connection was cut" : "the capture ends")
            }
        }
    }

    private func tellHole(_ index: Int) {
        ways[index].breakOff()
        guard unread.insert(index).inserted, let exchange else { return }
        exchange.note(index, "bytes are not in the capture: the rest of this way is not read")
    }

    private func read(_ bytes: [UInt8], _ index: Int, _ time: UInt64) {
        let exchange = exchange
        if exchange?.hasFrames(index) != true, !begins(bytes, index, time) { return }
        (exchange ?? begin()).receive(bytes, on: index, time: time, hasBeginning: ways[index].hasBeginning)
    }

    /// Whether a way's first bytes are to be read; what is none of ours is passed over.
    private func begins(_ bytes: [UInt8], _ index: Int, _ time: UInt64) -> Bool {
        if exchange?.hasBytes(index) == true { return true }
        do throws(WireError) {
            try FrameHeader.checkPrefix(bytes.rawBytes)
            return true
        } catch {
            if case .badMagic = error {} else { return true }
        }
        if ways[index].hasBeginning, isKnown || exchange != nil { return true }
        if isKnown || exchange != nil {
            unread.insert(index)
            (exchange ?? begin()).note(
                index, "the capture begins inside this way: its bytes cannot be read as frames", time: time)
            return false
        }
        isForeign = true
        _ = count(.foreign)
        return false
    }

    private func begin() -> Exchange {
        number = count(.ours)
        let hasBeginning = clientWay.map { ways[$0].hasBeginning } ?? false
        let exchange = Exchange(
            number, in: hasBeginning ? .handshake : .unknown, links: links, assuming: assumptions, emit)
        if let clientWay { exchange.setClient(clientWay) }
        self.exchange = exchange
        return exchange
    }
}
