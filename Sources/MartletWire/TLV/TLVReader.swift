/// Bounds on the structure of a frame's body (W-27).
public enum TLVLimits {
    /// The maximum number of nested containers.
    @inlinable
    public static var maxDepth: Int { 8 }
    /// The maximum number of TLVs in a body, nested ones included.
    @inlinable
    public static var maxCount: Int { 1024 }
    /// The number of bytes of a tag and a length.
    @inlinable
    public static var headByteCount: Int { 6 }
}

/// A reader of the TLVs of one level: of a body, or of a container's value. It copies and allocates nothing.
///
/// The reader does not descend into containers. `TLVView.reader(budget:)` creates a reader for a container's value.
public struct TLVReader: ~Escapable {
    @usableFromInline let bytes: RawSpan
    /// The offset of the next TLV, in bytes from the start of this level.
    public private(set) var offset = 0
    /// The number of further TLVs that the reader returns before it throws `tooManyTLVs`.
    public internal(set) var budget: Int

    /// Creates a reader at the start of `bytes` that returns at most `budget` TLVs.
    @_lifetime(copy bytes)
    public init(_ bytes: RawSpan, budget: Int = TLVLimits.maxCount) {
        self.bytes = bytes
        self.budget = budget
    }

    /// Returns the next TLV; nil at the end. After an error the reader does not advance (W-23).
    ///
    /// - Throws: `malformedTLV`, with the offset in this level, if the TLV exceeds the level; `tooManyTLVs` if the
    ///   budget is exhausted.
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

/// A TLV in place: its tag, and the borrowed bytes of its value.
public struct TLVView: ~Escapable {
    /// The tag of the field.
    public let tag: Tag
    /// The bytes of the value.
    public let value: RawSpan

    /// Creates a view of a value with a tag.
    @_lifetime(copy value)
    @inlinable
    public init(tag: Tag, value: RawSpan) {
        self.tag = tag
        self.value = value
    }

    /// Returns a reader of the TLVs in the value.
    ///
    /// - Parameter budget: The maximum number of TLVs. The remaining budget of the outer reader bounds the TLVs of the
    ///   whole body.
    @_lifetime(copy self)
    @inlinable
    public func reader(budget: Int = TLVLimits.maxCount) -> TLVReader {
        TLVReader(value, budget: budget)
    }

    /// Returns the value as an integer.
    ///
    /// - Throws: `invalidValue` if the value does not have exactly one byte (W-30).
    @inlinable
    public func uint8() throws(WireError) -> UInt8 { try integer() }

    /// Returns the value as an integer.
    ///
    /// - Throws: `invalidValue` if the value does not have exactly two bytes (W-30).
    @inlinable
    public func uint16() throws(WireError) -> UInt16 { try integer() }

    /// Returns the value as an integer.
    ///
    /// - Throws: `invalidValue` if the value does not have exactly four bytes (W-30).
    @inlinable
    public func uint32() throws(WireError) -> UInt32 { try integer() }

    /// Returns the value as an integer.
    ///
    /// - Throws: `invalidValue` if the value does not have exactly eight bytes (W-30).
    @inlinable
    public func uint64() throws(WireError) -> UInt64 { try integer() }

    @inlinable @inline(__always)
    func integer<Value: FixedWidthInteger & BitwiseCopyable>() throws(WireError) -> Value {  // W-30
        guard value.byteCount == MemoryLayout<Value>.size else { throw .invalidValue(tag) }
        return value.loadBigEndian(at: 0, as: Value.self)
    }

    /// Returns the value as text.
    ///
    /// - Throws: `invalidValue` if the number of bytes is out of bounds or the bytes are not well-formed UTF-8 (W-30).
    public func string(minByteCount: Int = 0, maxByteCount: Int) throws(WireError) -> String {
        try checkText(minByteCount: minByteCount, maxByteCount: maxByteCount)
        return String(validated: value)
    }

    /// Verifies that the value is text without creating a `String`.
    ///
    /// - Throws: `invalidValue` if the number of bytes is out of bounds or the bytes are not well-formed UTF-8 (W-30).
    package func checkText(minByteCount: Int = 0, maxByteCount: Int = .max) throws(WireError) {
        guard value.byteCount >= minByteCount, value.byteCount <= maxByteCount, value.isValidUTF8 else {
            throw .invalidValue(tag)
        }
    }

    /// Returns a copy of the value's bytes.
    @inlinable
    public func bytes() -> [UInt8] { [UInt8](copying: value) }

    /// Skips a field with an unknown tag.
    ///
    /// - Throws: `unknownCriticalTag` if the tag is critical (W-28).
    @inlinable
    public func skip() throws(WireError) {
        if tag.isCritical { throw .unknownCriticalTag(tag) }
    }
}
