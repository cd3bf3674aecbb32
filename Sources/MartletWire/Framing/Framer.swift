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
/// back between frames (W-7).
public struct Framer: ~Copyable {
    /// How many bytes a body may have, clamped to `FrameHeader.largestBodyByteCount`; holds for headers read from now
    /// on.
    public var maxBodyByteCount: Int {
        didSet { maxBodyByteCount = Self.clamped(maxBodyByteCount) }
    }
    /// The validated header of the frame whose body is incomplete, if the stream is there.
    public private(set) var pendingHeader: FrameHeader?
    private var partial = RingBuffer(maxByteCount: FrameHeader.byteCount + FrameHeader.largestBodyByteCount)
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

    private static func clamped(_ byteCount: Int) -> Int {
        min(max(byteCount, 0), FrameHeader.largestBodyByteCount)
    }

    /// How many bytes of an incomplete frame are held.
    public var bufferedByteCount: Int { partial.count }

    /// How many bytes of storage are taken at present.
    public var storageByteCount: Int { partial.storageByteCount }

    /// Takes bytes of the stream and calls `frame` for each frame that is complete and whose checksum is right.
    ///
    /// The views that `frame` gets are valid during the call only. Returns how many bytes of `input` were consumed:
    /// all, unless `frame` answered `.stop`.
    ///
    /// Throws what `FrameHeader.init(parsing:maxBodyByteCount:)` and `FrameHeader.verify(body:)` throw, and what
    /// `frame` throws. After an error the framer stays failed and throws the same error again.
    public mutating func consume(
        _ input: RawSpan, _ frame: (FrameHeader, RawSpan) throws(WireError) -> FramerStep
    ) throws(WireError) -> Int {
        if let failure { throw failure }
        do throws(WireError) {
            let consumed = try parse(input, frame)
            partial.releaseStorage()
            return consumed
        } catch {
            fail(error)
            throw error
        }
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
        partial.removeAll()
    }

    private mutating func parse(
        _ input: RawSpan, _ frame: (FrameHeader, RawSpan) throws(WireError) -> FramerStep
    ) throws(WireError) -> Int {
        var offset = 0
        if !partial.isEmpty {
            offset = try fill(from: input)
            if missingByteCount > 0 { return offset }
            if try completePartial(frame) == .stop { return offset }
        }
        while input.byteCount &- offset >= FrameHeader.byteCount {
            let rest = input.extracting(droppingFirst: offset)
            let header = try FrameHeader(parsing: rest, maxBodyByteCount: maxBodyByteCount)
            let end = FrameHeader.byteCount &+ Int(header.bodyByteCount)
            if rest.byteCount < end {
                pendingHeader = header
                partial.maxByteCount = end
                return offset &+ partial.write(rest)
            }
            let body = rest.extracting(FrameHeader.byteCount..<end)
            try header.verify(body: body, head: rest)
            offset &+= end
            if try frame(header, body) == .stop { return offset }
        }
        if offset < input.byteCount { offset += try fill(from: input.extracting(droppingFirst: offset)) }
        return offset
    }

    /// How many bytes the header, and once that is known the frame, still lacks.
    private var missingByteCount: Int {
        FrameHeader.byteCount + Int(pendingHeader?.bodyByteCount ?? 0) - partial.count
    }

    /// Takes as much of `input` as the frame begun lacks, and says how much that was.
    private mutating func fill(from input: RawSpan) throws(WireError) -> Int {
        var taken = 0
        if pendingHeader == nil {
            taken = partial.write(input.extracting(first: missingByteCount))
            if missingByteCount > 0 {
                try FrameHeader.checkPrefix(partial.firstRegion)
                return taken
            }
            let header = try FrameHeader(parsing: partial.firstRegion, maxBodyByteCount: maxBodyByteCount)
            pendingHeader = header
            partial.maxByteCount = FrameHeader.byteCount + Int(header.bodyByteCount)
        }
        taken += partial.write(input.extracting(droppingFirst: taken).extracting(first: missingByteCount))
        return taken
    }

    /// Hands out the frame that is complete in the ring, and forgets it.
    private mutating func completePartial(
        _ frame: (FrameHeader, RawSpan) throws(WireError) -> FramerStep
    ) throws(WireError) -> FramerStep {
        guard let header = pendingHeader else { return .proceed }
        let step = try deliver(header, to: frame)
        pendingHeader = nil
        partial.discard(partial.count)
        if partial.storageByteCount > ringByteCount { partial.releaseStorage() }
        return step
    }

    /// The ring never holds more than one frame, which starts at its storage's start: it lies in one piece.
    private borrowing func deliver(
        _ header: FrameHeader, to frame: (FrameHeader, RawSpan) throws(WireError) -> FramerStep
    ) throws(WireError) -> FramerStep {
        let bytes = partial.firstRegion
        let body = bytes.extracting(droppingFirst: FrameHeader.byteCount)
        try header.verify(body: body, head: bytes)
        return try frame(header, body)
    }
}
