internal import MartletTransport
internal import MartletWire

/// A TCP connection of a capture. It reassembles the streams, recognizes Martlet by the first bytes, and passes the
/// bytes to a ``ConnectionDecoder``.
final class CapturedConnection {
    /// The protocol of a connection.
    enum Kind {
        case martlet, foreign
    }

    /// The number of the connection's first packet in the capture.
    let firstPacketNumber: Int
    /// The sender of the first packet, whose direction is `first`.
    private let opener: SocketAddress
    /// Whether one of the ports is a known server port, so that bytes of another protocol are a fault.
    private let hasKnownPort: Bool
    private let links: LinkHistories
    private let assumptions: ConnectionDecoder.Assumptions
    private let count: (Kind) -> Int
    private let onEvent: (DecodeEvent) -> Void
    private var streams = [TCPReassembler(), TCPReassembler()]
    private var carriers = [CapturedCarrier(), CapturedCarrier()]
    private var clientDirection: StreamDirection?
    private var decoder: ConnectionDecoder?
    private var isForeign = false
    private var wasReset = false
    /// The directions of which no further bytes are decoded.
    private var undecoded: Set<StreamDirection> = []
    private var finished: Set<StreamDirection> = []
    /// The number of the connection in the capture; 0 until Martlet is recognized.
    private(set) var number = 0

    /// Creates a connection from its first segment. A server is recognized by `ports`. `count` returns the number of
    /// the connection after its protocol was recognized.
    init(
        firstPacketNumber: Int, opening segment: TCPSegment, ports: Set<UInt16>, _ links: LinkHistories,
        _ assumptions: ConnectionDecoder.Assumptions,
        _ count: @escaping (Kind) -> Int, onEvent: @escaping (DecodeEvent) -> Void
    ) {
        self.firstPacketNumber = firstPacketNumber
        opener = segment.source
        self.links = links
        self.assumptions = assumptions
        self.count = count
        self.onEvent = onEvent
        let isServer = ports.contains(segment.source.port)
        hasKnownPort = isServer || ports.contains(segment.destination.port)
        if segment.flags.contains(.syn) {
            clientDirection = segment.flags.contains(.ack) ? .second : .first
        } else if hasKnownPort {
            clientDirection = isServer ? .second : .first
        }
    }

    /// The number of bytes held behind gaps.
    var heldByteCount: Int { streams[0].heldByteCount + streams[1].heldByteCount }

    /// Ends the streams that have a gap.
    func endAtGap() {
        for direction in StreamDirection.allCases where self[direction].hasGap { noteGap(direction) }
    }

    /// Whether both streams have ended. Only repeated segments can follow.
    var isOver: Bool { wasReset || streams.allSatisfy { $0.hasEnded || $0.isBroken } }

    /// Receives the next segment.
    func receive(_ segment: TCPSegment, time: UInt64) {
        let direction: StreamDirection = segment.source == opener ? .first : .second
        if segment.flags.contains(.rst) { wasReset = true }
        let wasBroken = self[direction].isBroken
        let bytes = self[direction].receive(segment)
        if !bytes.isEmpty, !isForeign, !undecoded.contains(direction) { decode(bytes, direction, time) }
        if self[direction].isBroken, !wasBroken { noteGap(direction) }
        if self[direction].hasEnded, finished.insert(direction).inserted { decoder?.finish(direction, time: time) }
    }

    /// Ends both streams at the end of the capture.
    func finish() {
        for direction in StreamDirection.allCases where !undecoded.contains(direction) && !isForeign {
            if carriers[direction.rawValue].isInHead, hasKnownPort || decoder != nil {
                skip(direction, "the bytes end in the head of HTTP or TLS")
                continue
            }
            if self[direction].hasEnded { continue }
            if self[direction].hasGap {
                noteGap(direction)
            } else {
                decoder?.abandon(direction, wasReset ? "the connection was cut" : "the capture ends")
            }
        }
    }

    private subscript(direction: StreamDirection) -> TCPReassembler {
        get { streams[direction.rawValue] }
        _modify { yield &streams[direction.rawValue] }
    }

    private func noteGap(_ direction: StreamDirection) {
        self[direction].endAtGap()
        guard undecoded.insert(direction).inserted, let decoder else { return }
        decoder.note(direction, "bytes are not in the capture: the rest of this direction is not read")
    }

    private func decode(_ bytes: [UInt8], _ direction: StreamDirection, _ time: UInt64) {
        let hasBeginning = self[direction].hasBeginning
        let (frames, failure) = hasBeginning ? carriers[direction.rawValue].read(bytes) : (bytes, nil)
        if !frames.isEmpty, decoder?.hasFrames(direction) == true || isDecodable(frames, direction, time) {
            (decoder ?? makeDecoder()).receive(frames, on: direction, time: time, hasBeginning: hasBeginning)
        }
        if let failure, !isForeign { skip(direction, failure.description, time) }
    }

    /// Ends the decoding of a direction with a note, or that of a connection that is not known to be Martlet.
    private func skip(_ direction: StreamDirection, _ text: String, _ time: UInt64? = nil) {
        guard hasKnownPort || decoder != nil else {
            isForeign = true
            _ = count(.foreign)
            return
        }
        undecoded.insert(direction)
        (decoder ?? makeDecoder()).note(direction, text, time: time)
    }

    /// Whether the first bytes of a direction are decoded. Bytes of another protocol are skipped.
    private func isDecodable(_ bytes: [UInt8], _ direction: StreamDirection, _ time: UInt64) -> Bool {
        if decoder?.hasBytes(direction) == true { return true }
        do throws(WireError) {
            try FrameHeader.checkPrefix(bytes.rawBytes)
            return true
        } catch {
            if case .badMagic = error {} else { return true }
        }
        if self[direction].hasBeginning, hasKnownPort || decoder != nil { return true }
        skip(direction, "the capture begins inside this direction: its bytes cannot be read as frames", time)
        return false
    }

    private func makeDecoder() -> ConnectionDecoder {
        number = count(.martlet)
        let hasBeginning = clientDirection.map { self[$0].hasBeginning } ?? false
        let decoder = ConnectionDecoder(
            number, in: hasBeginning ? .handshake : .unknown, links: links, assuming: assumptions, onEvent: onEvent)
        if let clientDirection { decoder.setClient(clientDirection) }
        self.decoder = decoder
        return decoder
    }
}
