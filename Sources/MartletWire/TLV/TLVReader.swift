/// How much structure one frame's body may have (W-27).
public enum TLVLimits {
    /// How many containers may be nested one in another.
    @inlinable
    public static var maxDepth: Int { 8 }
    /// How many TLVs a body may have, nested ones counted.
    @inlinable
    public static var maxCount: Int { 1024 }
    /// How many bytes a tag and a length take.
    @inlinable
    public static var headByteCount: Int { 6 }
}

/// Walks the TLVs of one level: a body's, or a container's value. Copies and allocates nothing.
///
/// The reader does not descend; `TLVView.reader(budget:)` makes one for a container's value.
public struct TLVReader: ~Escapable {
    @usableFromInline let bytes: RawSpan
    /// Where the next TLV starts, in bytes from the start of this level.
    public private(set) var offset = 0
    /// How many more TLVs may come before `tooManyTLVs`.
    public internal(set) var budget: Int

    /// A reader at the start of `bytes` that yields at most `budget` TLVs.
    @_lifetime(copy bytes)
    public init(_ bytes: RawSpan, budget: Int = TLVLimits.maxCount) {
        self.bytes = bytes
        self.budget = budget
    }

    /// The next TLV, nil at the end. After an error the reader stays where it is (W-23).
    ///
    /// Throws `malformedTLV` (at this level's offset) when the TLV does not fit, `tooManyTLVs` when the budget is
    /// spent.
    @_lifetime(copy self)
    public mutating func next() throws(WireError) -> TLVView? {
        let rest = bytes.byteCount &- offset
        if rest == 0 { return nil }
        guard rest >= TLVLimits.headByteCount else { throw .malformedTLV(offset: offset) }
        let length = bytes.loadUInt32(at: offset &+ 2)
        guard Int64(length) <= Int64(rest &- TLVLimits.headByteCount) else { throw .malformedTLV(offset: offset) }
        guard budget > 0 else { throw .tooManyTLVs(limit: TLVLimits.maxCount) }
        budget &-= 1
        let start = offset &+ TLVLimits.headByteCount
        let end = start &+ Int(length)
        let view = TLVView(
            tag: Tag(rawValue: bytes.loadUInt16(at: offset)), value: bytes.extracting(start..<end))
        offset = end
        return view
    }
}

/// One TLV where it lies: its tag and its value's bytes, borrowed.
public struct TLVView: ~Escapable {
    /// The field's name.
    public let tag: Tag
    /// The value's bytes.
    public let value: RawSpan

    /// A view of `value` under `tag`.
    @_lifetime(copy value)
    @inlinable
    public init(tag: Tag, value: RawSpan) {
        self.tag = tag
        self.value = value
    }

    /// A reader of the value's own TLVs. Hand in what is left of the outer reader's budget to count over the whole
    /// body.
    @_lifetime(copy self)
    @inlinable
    public func reader(budget: Int = TLVLimits.maxCount) -> TLVReader {
        TLVReader(value, budget: budget)
    }

    /// The value as an integer. Throws `invalidValue` when its length is not exactly one byte.
    @inlinable
    public func uint8() throws(WireError) -> UInt8 { try integer() }

    /// The value as an integer. Throws `invalidValue` when its length is not exactly two bytes.
    @inlinable
    public func uint16() throws(WireError) -> UInt16 { try integer() }

    /// The value as an integer. Throws `invalidValue` when its length is not exactly four bytes.
    @inlinable
    public func uint32() throws(WireError) -> UInt32 { try integer() }

    /// The value as an integer. Throws `invalidValue` when its length is not exactly eight bytes.
    @inlinable
    public func uint64() throws(WireError) -> UInt64 { try integer() }

    @inlinable @inline(__always)
    func integer<Value: FixedWidthInteger & BitwiseCopyable>() throws(WireError) -> Value {  // W-30
        guard value.byteCount == MemoryLayout<Value>.size else { throw .invalidValue(tag) }
        return value.loadBigEndian(at: 0, as: Value.self)
    }

    /// The value as text.
    ///
    /// Throws `invalidValue` when it has fewer or more bytes than allowed or is not well-formed UTF-8 (W-30).
    public func string(minByteCount: Int = 0, maxByteCount: Int) throws(WireError) -> String {
        try checkText(minByteCount: minByteCount, maxByteCount: maxByteCount)
        return String(validated: value)
    }

    /// Checks the value as `string(minByteCount:maxByteCount:)` does, without making a `String` of it.
    public func checkText(minByteCount: Int = 0, maxByteCount: Int = .max) throws(WireError) {
        guard value.byteCount >= minByteCount, value.byteCount <= maxByteCount, value.isValidUTF8 else {
            throw .invalidValue(tag)
        }
    }

    /// A copy of the value's bytes.
    @inlinable
    public func bytes() -> [UInt8] { [UInt8](copying: value) }

    /// What to do with a tag that the caller does not know: nothing, or throw `unknownCriticalTag` when it is critical
    /// (W-28).
    @inlinable
    public func skip() throws(WireError) {
        if tag.isCritical { throw .unknownCriticalTag(tag) }
    }
}
