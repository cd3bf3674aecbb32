/// Whether the framer goes on after a frame.
public enum FramerStep: Sendable {
    /// Parse on.
    case proceed
    /// Leave the rest of the input unconsumed.
    case stop
}

/// Cuts a stream of bytes into frames, whatever the pieces it comes in.
///
/// States: *between frames* holds nothing, and whole frames are handed out where they lie in the input; *inside a
/// frame* holds the bytes of one frame so far, of which the header is checked as soon as it is there; *failed* holds
/// the error and throws it for ever. There is no way back from failed: the framer does not hunt for the next magic,
/// since message text may contain bytes that look like a frame (W-5).
///
/// No memory is taken on a header's word: storage grows with the bytes that came, never beyond the frame, and is given
/// back between frames (W-7). Where packets are allowed they may stand between frames, and the frames in them are
/// handed out like any other (W-76); one is then what is meant by a frame above.
public struct Framer: ~Copyable {
    /// How many bytes a body may have, clamped to `FrameHeader.largestBodyByteCount`; holds for headers read from now
    /// on.
    public var maxBodyByteCount: Int {
        didSet { maxBodyByteCount = Self.clamped(maxBodyByteCount) }
    }
    /// The validated header of the frame whose body is incomplete, if the stream is there.
    public private(set) var pendingHeader: FrameHeader?
    private var packets = PacketRights.none
    /// Reads the packets of the stream; nil until there was one.
    package private(set) var reader: PacketReader?
    /// The head of the packet that is incomplete, if it is there.
    private var pendingPacket: Packet.Head?
    /// How many bytes what is incomplete will have, as far as is known.
    private var pendingByteCount = 0
    private var partial = RingBuffer(maxByteCount: Framer.largestByteCount)
    private static let largestByteCount = FrameHeader.byteCount + FrameHeader.largestBodyByteCount
    private var failure: WireError?
    private let ringByteCount: Int

    /// A framer at the start of a stream.
    ///
    /// - Parameters:
    ///   - maxBodyByteCount: How many bytes a body may have.
    ///   - ringByteCount: How many bytes of storage are kept from one incomplete frame to the next; larger storage is
    ///     given back at once.
    public init(maxBodyByteCount: Int, ringByteCount: Int = 16 * 1024) {
        self.maxBodyByteCount = Self.clamped(maxBodyByteCount)
        self.ringByteCount = ringByteCount
    }

    /// What may stand between frames.
    private enum PacketRights {
        case none
        case plain
        case deflated
    }

    /// Packets of one call of `consume`, beyond which the rest of the input is left: a packet need not hold a frame,
    /// so a bound of frames does not bound a call.
    package var maxPacketsPerCall = Int.max

    /// What packets have cost since the last call.
    package func takePacketCounts() -> PacketCounts { reader?.takeCounts() ?? PacketCounts() }

    /// Whether the framer is between units of its stream: then it can serve another.
    package var isBetweenUnits: Bool { failure == nil && partial.isEmpty && !hasWaitingFrames }

    /// Goes on with a stream without packets.
    ///
    /// - Precondition: The framer is between units.
    package mutating func serve() {
        precondition(isBetweenUnits, "the framer holds a part of another stream")
        packets = .none
        reader = nil
    }

    /// Goes on with a stream with packets, of which `reader` has read those so far.
    ///
    /// - Precondition: The framer is between units.
    package mutating func serve(_ reader: PacketReader?, deflated: Bool) {
        serve()
        allowPackets(deflated: deflated)
        self.reader = reader
    }

    /// From here on packets may come, also such that have passed through the peer's deflate stream (W-76, W-92).
    public mutating func allowPackets(deflated: Bool) {
        packets = deflated ? .deflated : .plain
    }

    /// Whether packets may come: the framer then has a context, which is its connection's alone.
    public var allowsPackets: Bool { packets != .none }

    /// Whether the peer's deflate stream is open, and holds 44 KiB here (W-94).
    public var isStreaming: Bool { reader?.isStreaming ?? false }

    /// Whether the next call has frames to hand out without any input.
    public var hasWaitingFrames: Bool { reader?.hasRest ?? false }

    private static func clamped(_ byteCount: Int) -> Int {
        min(max(byteCount, 0), FrameHeader.largestBodyByteCount)
    }

    /// How many bytes of an incomplete frame are held.
    public var bufferedByteCount: Int { partial.count }

    /// How many bytes of storage are taken at present.
    public var storageByteCount: Int { partial.storageByteCount }

    /// The same as ``consumeContents(_:_:)``, with each frame's body: of a compact one it is written for the call.
    public mutating func consume(
        _ input: RawSpan, _ frame: (FrameHeader, RawSpan) throws(WireError) -> FramerStep
    ) throws(WireError) -> Int {
        try consumeContents(input) { header, content throws(WireError) in
            try content.withBody { body throws(WireError) in try frame(header, body) }
        }
    }

    /// Takes bytes of the stream and calls `frame` for each frame that is complete and whose checksum is right.
    ///
    /// What `frame` gets is valid during the call only. Returns how many bytes of `input` were consumed:
    /// all, unless `frame` answered `.stop` or `maxPacketsPerCall` were there. A packet is consumed whole; frames of it
    /// that were not handed out come with the next call, for which ``hasWaitingFrames`` tells that it is worth making
    /// without input.
    ///
    /// Throws what `FrameHeader.init(parsing:maxBodyByteCount:)` and `FrameHeader.verify(body:)` throw, and what
    /// `frame` throws. After an error the framer stays failed and throws the same error again.
    public mutating func consumeContents(
        _ input: RawSpan, _ frame: (FrameHeader, FrameContent) throws(WireError) -> FramerStep
    ) throws(WireError) -> Int {
        if let failure { throw failure }
        do throws(WireError) {
            if let reader, reader.hasRest, try reader.resume(maxBodyByteCount: maxBodyByteCount, frame) == .stop {
                return 0
            }
            return try parse(input, frame)
        } catch {
            fail(error)
            throw error
        }
    }

    /// Gives back what is kept for the next incomplete frame; does nothing while there is one.
    public mutating func releaseStorage() {
        partial.releaseStorage()
    }

    /// Says that the stream ended (W-2).
    ///
    /// Throws `unexpectedEOF` when that is inside a frame, or the error that came before.
    public mutating func finish() throws(WireError) {
        if let failure { throw failure }
        if partial.isEmpty { return }
        let error = WireError.unexpectedEOF(missing: missingByteCount)
        fail(error)
        throw error
    }

    private mutating func fail(_ error: WireError) {
        failure = error
        pendingHeader = nil
        pendingPacket = nil
        reader = nil
        partial.removeAll()
    }

    private mutating func parse(
        _ input: RawSpan, _ frame: (FrameHeader, FrameContent) throws(WireError) -> FramerStep
    ) throws(WireError) -> Int {
        var offset = 0
        var packetsLeft = maxPacketsPerCall
        if !partial.isEmpty {
            offset = try fill(from: input)
            if missingByteCount > 0 { return offset }
            if try completePartial(frame) == .stop { return offset }
        }
        while offset < input.byteCount {
            let rest = input.extracting(droppingFirst: offset)
            if isPacket(rest) {
                guard let head = try Packet.Head(parsing: rest, allowsDeflate: packets == .deflated),
                    rest.byteCount >= head.packetByteCount
                else { break }
                let packet = rest.extracting(first: head.packetByteCount)
                offset &+= head.packetByteCount
                let step = try packetReader().read(packet, head, maxBodyByteCount: maxBodyByteCount, frame)
                packetsLeft -= 1
                if step == .stop || packetsLeft == 0 { return offset }
                continue
            }
            guard rest.byteCount >= FrameHeader.byteCount else { break }
            let header = try FrameHeader(parsing: rest, maxBodyByteCount: maxBodyByteCount)
            let end = FrameHeader.byteCount &+ Int(header.bodyByteCount)
            if rest.byteCount < end {
                expect(end, of: header)
                return offset &+ partial.write(rest)
            }
            let body = rest.extracting(FrameHeader.byteCount..<end)
            try header.verify(body: body, head: rest)
            offset &+= end
            if try frame(header, .body(body)) == .stop { return offset }
        }
        if offset < input.byteCount { offset += try fill(from: input.extracting(droppingFirst: offset)) }
        return offset
    }

    /// Whether what begins here, with at least one byte, is a packet: in its place a frame would have its magic.
    private func isPacket(_ bytes: RawSpan) -> Bool {
        packets != .none && bytes.loadUInt8(at: 0) != UInt8(FrameHeader.magic >> 24)
    }

    /// The reader of this direction's packets, made for the first of them.
    private mutating func packetReader() -> PacketReader {
        let reader = self.reader ?? PacketReader()
        self.reader = reader
        return reader
    }

    /// How many bytes the head, and once that is known the frame or packet, still lacks.
    private var missingByteCount: Int { pendingByteCount - partial.count }

    private mutating func expect(_ byteCount: Int, of header: FrameHeader) {
        pendingHeader = header
        pendingByteCount = byteCount
        partial.maxByteCount = byteCount
    }

    private mutating func expect(_ packet: Packet.Head) {
        pendingPacket = packet
        pendingByteCount = packet.packetByteCount
        partial.maxByteCount = packet.packetByteCount
    }

    /// Takes as much of `input` as what has begun lacks, and says how much that was.
    private mutating func fill(from input: RawSpan) throws(WireError) -> Int {
        if pendingHeader != nil || pendingPacket != nil {
            return partial.write(input.extracting(first: missingByteCount))
        }
        let isPacket = partial.isEmpty ? isPacket(input) : isPacket(partial.firstRegion)
        let taken = isPacket ? try fillPacketHead(from: input) : try fillHeader(from: input)
        guard pendingHeader != nil || pendingPacket != nil else { return taken }
        return taken + partial.write(input.extracting(droppingFirst: taken).extracting(first: missingByteCount))
    }

    private mutating func fillHeader(from input: RawSpan) throws(WireError) -> Int {
        pendingByteCount = FrameHeader.byteCount
        let taken = partial.write(input.extracting(first: missingByteCount))
        if missingByteCount > 0 {
            try FrameHeader.checkPrefix(partial.firstRegion)
        } else {
            let header = try FrameHeader(parsing: partial.firstRegion, maxBodyByteCount: maxBodyByteCount)
            expect(FrameHeader.byteCount + Int(header.bodyByteCount), of: header)
        }
        return taken
    }

    /// Byte by byte, since each of the two that a head may have tells whether it is the last.
    private mutating func fillPacketHead(from input: RawSpan) throws(WireError) -> Int {
        pendingByteCount = Packet.maxHeadByteCount
        var taken = 0
        while taken < input.byteCount, pendingPacket == nil {
            taken += partial.write(input.extracting(droppingFirst: taken).extracting(first: 1))
            if let head = try Packet.Head(parsing: partial.firstRegion, allowsDeflate: packets == .deflated) {
                expect(head)
            }
        }
        return taken
    }

    /// Hands out what is complete in the ring, and forgets it.
    private mutating func completePartial(
        _ frame: (FrameHeader, FrameContent) throws(WireError) -> FramerStep
    ) throws(WireError) -> FramerStep {
        let step: FramerStep
        if let head = pendingPacket {
            let reader = packetReader()
            step = try reader.read(partial.firstRegion, head, maxBodyByteCount: maxBodyByteCount, frame)
        } else if let header = pendingHeader {
            step = try deliver(header, to: frame)
        } else {
            return .proceed
        }
        pendingHeader = nil
        pendingPacket = nil
        partial.discard(partial.count)
        partial.maxByteCount = Self.largestByteCount
        if partial.storageByteCount > ringByteCount { partial.releaseStorage() }
        return step
    }

    /// The ring never holds more than one frame, which starts at its storage's start: it lies in one piece.
    @inline(__always)
    private borrowing func deliver(
        _ header: FrameHeader, to frame: (FrameHeader, FrameContent) throws(WireError) -> FramerStep
    ) throws(WireError) -> FramerStep {
        let bytes = partial.firstRegion
        let body = bytes.extracting(droppingFirst: FrameHeader.byteCount)
        try header.verify(body: body, head: bytes)
        return try frame(header, .body(body))
    }
}
