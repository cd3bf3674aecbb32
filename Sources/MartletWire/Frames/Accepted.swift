/// A run of messages of one publisher with consecutive counters and consecutive offsets (W-64).
@usableFromInline
package struct AcceptedRun: Hashable, BitwiseCopyable, Sendable {
    /// The counter of the first message, at least 1.
    package let firstCounter: UInt64
    /// The number of messages, at least 1.
    package let count: UInt32
    /// The offset of the first message; 0 for a single message that was accepted earlier at an offset that is no longer
    /// known.
    package let firstOffset: UInt64

    /// Creates a run.
    ///
    /// - Precondition: The counters, the offsets and the count start at 1 and do not exceed 64 bits. The offset 0
    ///   requires the count 1.
    package init(firstCounter: UInt64, count: UInt32, firstOffset: UInt64) {
        self.firstCounter = firstCounter
        self.count = count
        self.firstOffset = firstOffset
        precondition(isValid, "a run's numbers start at 1 and stay within 64 bits")
    }

    /// The counters of the messages.
    @usableFromInline
    package var counters: ClosedRange<UInt64> { firstCounter...(firstCounter + UInt64(count - 1)) }

    /// The offsets of the messages.
    package var offsets: ClosedRange<UInt64> { firstOffset...(firstOffset + UInt64(count - 1)) }

    /// Returns the offset of the message with a counter; nil if the run does not contain it or its offset is unknown.
    package func offset(of counter: UInt64) -> UInt64? {
        counters.contains(counter) && firstOffset > 0 ? firstOffset + (counter - firstCounter) : nil
    }

    /// Returns the run extended by another run that directly follows it; nil if the other run does not follow.
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

    /// Creates a run extended by `more` messages. The caller has verified that they follow.
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

    /// Encodes numbers that need not form a valid run.
    static func encode(_ firstCounter: UInt64, _ count: UInt32, _ firstOffset: UInt64, into writer: inout TLVWriter) {
        writer.appendHead(.acceptedRun, followedBy: valueByteCount)
        writer.appendRaw(firstCounter)
        writer.appendRaw(count)
        writer.appendRaw(firstOffset)
    }

    /// Creates the run from a body with the layout ``BodyLayout/acceptedRun``.
    init(laidOut body: RawSpan) {
        firstCounter = body.loadUInt64(at: 6)
        count = body.loadUInt32(at: 14)
        firstOffset = body.loadUInt64(at: 18)
    }

    /// Creates a run from unverified numbers; nil if they do not form a valid run.
    init?(checking firstCounter: UInt64, _ count: UInt32, _ firstOffset: UInt64) {
        self.firstCounter = firstCounter
        self.count = count
        self.firstOffset = firstOffset
        guard isValid else { return nil }
    }

    static var valueByteCount: Int { 20 }
    /// The number of bytes of the field, which is the whole body if there is one run.
    static var byteCount: Int { TLVLimits.headByteCount + valueByteCount }
}

extension Accepted {
    /// The layout of the body that ``encode(into:)`` writes.
    package var layout: BodyLayout { runs.count == 1 ? .acceptedRun : .unknown }
}
