/// The decision whether a framer continues after a frame.
package enum FramerStep: Sendable {
    /// Parsing continues.
    case proceed
    /// Parsing stops. The rest of the input is not consumed.
    case stop
}

/// A parser that splits a stream of bytes, received in pieces of any size, into frames.
///
/// States: *between frames* owns no bytes, and complete frames are reported in place, within the input; *inside a
/// frame* owns the received bytes of one frame, whose header is validated when it is complete; *failed* owns the error
/// and throws it in every later call. The state failed is permanent: the framer does not search for the next magic,
/// since the text of a message may contain bytes that look like a frame (W-5).
///
/// The announced length of a body allocates no memory: the storage grows with the received bytes up to the size of the
/// frame, and is released between frames (W-7). Packets may stand between frames if they are allowed, and their frames
/// are reported like plain ones (W-76). A packet is then a unit of the stream, as a plain frame is.
@usableFromInline
package struct Framer: ~Copyable {
    /// The maximum number of bytes of a body, clamped to `FrameHeader.largestBodyByteCount`. A new value applies to
    /// headers that are parsed later.
    @usableFromInline
    package var maxBodyByteCount: Int {
        didSet { maxBodyByteCount = Self.clamped(maxBodyByteCount) }
    }
    /// The validated header of the frame whose body is incomplete; nil if there is none.
    package private(set) var pendingHeader: FrameHeader?
    private var packets = PacketRights.none
    /// The reader of the stream's packets; nil before the first packet.
    package private(set) var reader: PacketReader?
    /// The head of the incomplete packet; nil if the head is incomplete or there is no such packet.
    private var pendingPacket: Packet.Head?
    /// The number of bytes of the incomplete unit, or of its head while that is incomplete.
    private var pendingByteCount = 0
    private var partial = RingBuffer(maxByteCount: Framer.largestByteCount)
    private static let largestByteCount = FrameHeader.byteCount + FrameHeader.largestBodyByteCount
    private var failure: WireError?
    private let ringByteCount: Int

    /// Creates a framer for a new stream.
    ///
    /// - Parameters:
    ///   - maxBodyByteCount: The maximum number of bytes of a body.
    ///   - ringByteCount: The maximum number of bytes of storage that is kept after an incomplete frame was completed.
    ///     Larger storage is released at once.
    package init(maxBodyByteCount: Int, ringByteCount: Int = 16 * 1024) {
        self.maxBodyByteCount = Self.clamped(maxBodyByteCount)
        self.ringByteCount = ringByteCount
    }

    /// The packets that may stand between frames.
    private enum PacketRights {
        case none
        case plain
        case deflated
    }

    /// The maximum number of packets that one call of `consume` parses. A packet need not contain a frame, so a bound
    /// on frames does not bound a call.
    package var maxPacketsPerCall = Int.max

    /// Whether the next frame must be a hello. A header with another type is an error before its body and checksum, so
    /// that the result does not depend on how the stream is divided (C-13, W-32, Specs/hostile.md row 4).
    package var expectsHello = false

    /// Returns the counts of packets since the last call, and resets them.
    package func takePacketCounts() -> PacketCounts { reader?.takeCounts() ?? PacketCounts() }

    /// Whether the framer is between two units of its stream, so that it can parse another stream.
    package var isBetweenUnits: Bool { failure == nil && partial.isEmpty && !hasWaitingFrames }

    /// Continues with a stream without packets.
    ///
    /// - Precondition: The framer is between two units.
    package mutating func serve() {
        precondition(isBetweenUnits, "the framer holds a part of another stream")
        packets = .none
        reader = nil
    }

    /// Continues with a stream of packets, whose previous packets `reader` has parsed.
    ///
    /// - Precondition: The framer is between two units.
    package mutating func serve(_ reader: PacketReader?, deflated: Bool) {
        serve()
        allowPackets(deflated: deflated)
        self.reader = reader
    }

    /// Allows packets from now on (W-76).
    ///
    /// - Parameter deflated: Whether deflated packets are allowed too (W-92).
    package mutating func allowPackets(deflated: Bool) {
        packets = deflated ? .deflated : .plain
    }

    /// Whether packets are allowed. The framer then owns a context and cannot be shared by connections.
    package var allowsPackets: Bool { packets != .none }

    /// Whether the peer's deflate stream is open. Its inflate stream occupies 44 KiB (W-94).
    package var isStreaming: Bool { reader?.isStreaming ?? false }

    /// Whether the next call reports frames even if its input is empty.
    package var hasWaitingFrames: Bool { reader?.hasRest ?? false }

    private static func clamped(_ byteCount: Int) -> Int {
        min(max(byteCount, 0), FrameHeader.largestBodyByteCount)
    }

    /// The number of bytes of an incomplete unit.
    @usableFromInline
    package var bufferedByteCount: Int { partial.count }

    /// The number of bytes of storage that is allocated.
    package var storageByteCount: Int { partial.storageByteCount }

    /// Consumes bytes of the stream and calls `frame` with each frame's header and body. The body of a compact frame is
    /// encoded for the duration of the call.
    ///
    /// - Returns: The number of bytes of `input` that were consumed; see ``consumeContents(_:_:)``.
    /// - Throws: The errors of ``consumeContents(_:_:)``.
    package mutating func consume(
        _ input: RawSpan, _ frame: (FrameHeader, RawSpan) throws(WireError) -> FramerStep
    ) throws(WireError) -> Int {
        try consumeContents(input) { header, content throws(WireError) in
            try content.withBody { body throws(WireError) in try frame(header, body) }
        }
    }

    /// Consumes bytes of the stream and calls `frame` for each complete frame with a valid checksum. The arguments of
    /// `frame` are valid for the duration of the call.
    ///
    /// A packet is consumed completely. If `frame` returns `.stop` within a packet, the next call reports its remaining
    /// frames, and ``hasWaitingFrames`` is true until then.
    ///
    /// - Returns: The number of bytes of `input` that were consumed: all, unless `frame` returned `.stop` or
    ///   `maxPacketsPerCall` packets were parsed.
    /// - Throws: The errors of `FrameHeader.init(parsing:maxBodyByteCount:)`, of `FrameHeader.verify(body:)` and of
    ///   `frame`. After an error the framer has failed and throws the same error in every later call.
    package mutating func consumeContents(
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

    /// Releases the storage unless it contains an incomplete unit.
    package mutating func releaseStorage() {
        partial.releaseStorage()
    }

    /// Reports the end of the stream (W-2).
    ///
    /// - Throws: `unexpectedEOF` if a unit is incomplete, or the error with which the framer failed.
    package mutating func finish() throws(WireError) {
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
            expectsHello = false
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
            let header = try header(of: rest)
            expectsHello = false
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

    /// Returns whether the unit at the start of `bytes`, which are not empty, is a packet. A plain frame begins with
    /// the magic.
    private func isPacket(_ bytes: RawSpan) -> Bool {
        packets != .none && bytes.loadUInt8(at: 0) != UInt8(FrameHeader.magic >> 24)
    }

    /// Returns the reader of the stream's packets, which is created for the first one.
    private mutating func packetReader() -> PacketReader {
        let reader = self.reader ?? PacketReader()
        self.reader = reader
        return reader
    }

    /// The number of missing bytes of the incomplete unit, or of its head while that is incomplete.
    private var missingByteCount: Int { pendingByteCount - partial.count }

    @inline(__always)
    private borrowing func header(of bytes: RawSpan) throws(WireError) -> FrameHeader {
        let header = try FrameHeader(parsing: bytes, maxBodyByteCount: maxBodyByteCount)
        if expectsHello, header.type != .hello { throw .expectedHello(header.type) }
        return header
    }

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

    /// Stores bytes of `input` that belong to the incomplete unit, and returns their number.
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
            let header = try header(of: partial.firstRegion)
            expectsHello = false
            expect(FrameHeader.byteCount + Int(header.bodyByteCount), of: header)
        }
        return taken
    }

    /// Parses byte by byte, since each byte of a packet's head indicates whether it is the last one.
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

    /// Reports the complete unit in the ring, and removes it.
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

    /// Reports a plain frame. Its bytes are contiguous, because the ring contains at most one unit, which begins at the
    /// start of the storage.
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
