/// A row of a sender's messages that lie at neighbouring offsets of the room (W-64).
public struct AcceptedRun: Hashable, BitwiseCopyable, Sendable {
    /// The first message's counter, at least 1.
    public let firstCounter: UInt64
    /// How many messages, at least 1.
    public let count: UInt32
    /// The first message's offset; 0 for a single message that was accepted earlier, at an offset no longer known.
    public let firstOffset: UInt64

    /// A row of messages.
    ///
    /// - Precondition: counters, offsets and the count start at 1, and none passes 64 bits; the offset 0 goes with
    ///   count 1.
    public init(firstCounter: UInt64, count: UInt32, firstOffset: UInt64) {
        self.firstCounter = firstCounter
        self.count = count
        self.firstOffset = firstOffset
        precondition(isValid, "a run's numbers start at 1 and stay within 64 bits")
    }

    /// The messages' counters.
    public var counters: ClosedRange<UInt64> { firstCounter...(firstCounter + UInt64(count - 1)) }

    /// The messages' offsets.
    public var offsets: ClosedRange<UInt64> { firstOffset...(firstOffset + UInt64(count - 1)) }

    /// Where the message of that counter lies; nil when it is not in the run or that is not known.
    public func offset(of counter: UInt64) -> UInt64? {
        counters.contains(counter) && firstOffset > 0 ? firstOffset + (counter - firstCounter) : nil
    }

    /// The run with those of another at its end, if that is where they belong.
    package func extended(by other: AcceptedRun) -> AcceptedRun? {
        guard other.firstOffset > 0, isFollowed(by: other.firstCounter, at: other.firstOffset),
            other.count <= .max - count
        else { return nil }
        return AcceptedRun(self, longerBy: other.count)
    }

    @inline(__always)
    private func isFollowed(by counter: UInt64, at offset: UInt64) -> Bool {
        firstOffset > 0 && counter > firstCounter && counter - firstCounter == UInt64(count) && offset > firstOffset
            && offset - firstOffset == UInt64(count)
    }

    /// What follows has been found to follow, so its numbers are in order.
    private init(_ run: AcceptedRun, longerBy more: UInt32) {
        firstCounter = run.firstCounter
        count = run.count + more
        firstOffset = run.firstOffset
    }

    private var isValid: Bool {
        guard firstCounter >= 1, count >= 1, firstOffset >= 1 || count == 1 else { return false }
        let distance = UInt64(count - 1)
        return UInt64.max - firstCounter >= distance && UInt64.max - firstOffset >= distance
    }

    init(parsing field: TLVView) throws(WireError) {
        guard field.value.byteCount == Self.valueByteCount else { throw .invalidValue(field.tag) }
        firstCounter = field.value.loadUInt64(at: 0)
        count = field.value.loadUInt32(at: 8)
        firstOffset = field.value.loadUInt64(at: 12)
        guard isValid else { throw .invalidValue(field.tag) }
    }

    func encode(into writer: inout TLVWriter) {
        Self.encode(firstCounter, count, firstOffset, into: &writer)
    }

    /// The same of numbers that need not be those of a run.
    static func encode(_ firstCounter: UInt64, _ count: UInt32, _ firstOffset: UInt64, into writer: inout TLVWriter) {
        writer.appendHead(.acceptedRun, followedBy: valueByteCount)
        writer.appendRaw(firstCounter)
        writer.appendRaw(count)
        writer.appendRaw(firstOffset)
    }

    /// The run of a body that is ``BodyLayout/acceptedRun``.
    init(laidOut body: RawSpan) {
        firstCounter = body.loadUInt64(at: 6)
        count = body.loadUInt32(at: 14)
        firstOffset = body.loadUInt64(at: 18)
    }

    /// The run of these numbers; nil when they are not those of one.
    init?(checking firstCounter: UInt64, _ count: UInt32, _ firstOffset: UInt64) {
        self.firstCounter = firstCounter
        self.count = count
        self.firstOffset = firstOffset
        guard isValid else { return nil }
    }

    static var valueByteCount: Int { 20 }
    /// Bytes of the field, which are those of a body with one run.
    static var byteCount: Int { TLVLimits.headByteCount + valueByteCount }
}

/// The relay has messages durably, at these offsets of the room.
public struct Accepted: FrameBody {
    /// `accepted`, 0x2003.
    public static let type = FrameType.accepted
    /// The most runs in one.
    public static let maxRunCount = 256

    /// The messages, 1…256 runs.
    public let runs: [AcceptedRun]

    /// A confirmation.
    ///
    /// - Precondition: 1…``maxRunCount`` runs.
    public init(runs: [AcceptedRun]) {
        precondition((1...Self.maxRunCount).contains(runs.count), "accepted names 1…256 runs")
        self.runs = runs
    }

    /// Parses a whole body; see ``FrameBody`` for the errors.
    public init(parsing body: RawSpan) throws(WireError) {
        var runs: [AcceptedRun] = []
        var reader = try TLVReader(wholeBody: body)
        while let field = try reader.next() {
            switch field.tag {
            case .acceptedRun: try runs.append(AcceptedRun(parsing: field), limit: Self.maxRunCount)
            default: try field.skip()
            }
        }
        guard !runs.isEmpty else { throw .missingField(.acceptedRun) }
        self.runs = runs
    }

    /// The layout of the body that ``encode(into:)`` writes.
    public var layout: BodyLayout { runs.count == 1 ? .acceptedRun : .unknown }

    /// Appends the body's fields.
    public func encode(into writer: inout TLVWriter) {
        for run in runs { run.encode(into: &writer) }
    }
}
