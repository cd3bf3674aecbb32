extension Optional {
    /// Sets the value of a field that a body may contain once (W-25).
    mutating func fill(_ tag: Tag, _ value: Wrapped) throws(WireError) {
        guard self == nil else { throw .duplicateField(tag) }
        self = value
    }

    /// Returns the value of a required field.
    package func required(_ tag: Tag) throws(WireError) -> Wrapped {
        guard let self else { throw .missingField(tag) }
        return self
    }
}

extension Array {
    /// Appends the value of a field that a body may contain up to `limit` times (W-25).
    mutating func append(_ value: Element, limit: Int) throws(WireError) {
        guard count < limit else { throw .tooManyTLVs(limit: limit) }
        append(value)
    }
}

extension TLVReader {
    /// Creates a reader of a complete body after verification of its structure, skipped containers included.
    @_lifetime(copy body)
    init(wholeBody body: RawSpan) throws(WireError) {
        try TLVValidator.validate(body)
        self.init(body)
    }

    /// Creates a reader of a complete body of a type with a `content`, after verification of its structure (W-27).
    @_lifetime(copy body)
    init(wholeBodyWithContent body: RawSpan) throws(WireError) {
        var budget = TLVLimits.maxCount
        try TLVValidator.validate(body, depth: 0, budget: &budget)
        try ContentRules.checkCounts(in: body, budget: budget)
        self.init(body)
    }
}

extension TLVView {
    /// Returns the value of a counter or an offset, at least 1.
    func positive() throws(WireError) -> UInt64 {
        try uint64().within(1...UInt64.max, tag)
    }

    /// Returns the value of a Boolean field, 0 or 1.
    func bool() throws(WireError) -> Bool {
        switch try uint8() {
        case 0: return false
        case 1: return true
        default: throw .invalidValue(tag)
        }
    }

    /// Returns the value of a field that contains one of several numbers.
    func choice<Choice: RawRepresentable<UInt8>>() throws(WireError) -> Choice {
        guard let choice = Choice(rawValue: try uint8()) else { throw .invalidValue(tag) }  // S-51
        return choice
    }

    /// Returns the value of a field that contains a name.
    func name<Name: WireName>(_: Name.Type = Name.self) throws(WireError) -> Name {
        let text = try string(maxByteCount: Name.maxByteCount)
        guard let name = Name(text) else { throw .invalidValue(tag) }
        return name
    }

    /// Returns the value of a field that contains a duration.
    func duration(_ unit: WireTimeUnit) throws(WireError) -> Duration {
        Duration(wireCount: try uint32(), unit)
    }
}

extension FixedWidthInteger {
    /// Returns the value of a field within its bounds.
    @inline(__always)
    func within(_ bounds: ClosedRange<Self>, _ tag: Tag) throws(WireError) -> Self {
        guard bounds.contains(self) else { throw .invalidValue(tag) }
        return self
    }
}

extension TLVWriter {
    @inline(__always)
    mutating func append(_ tag: Tag, name: some WireName) {
        append(tag, string: name.text)
    }

    mutating func append(_ tag: Tag, duration: Duration, _ unit: WireTimeUnit) {
        append(tag, uint32: duration.wireCount(unit))
    }
}

extension String {
    /// Returns the longest prefix of whole Unicode scalars with at most `limit` bytes of UTF-8.
    ///
    /// A reason is truncated instead of refused, so that the frame can be sent.
    func clipped(toByteCount limit: Int) -> String {
        guard utf8.count > limit else { return self }
        var end = utf8.index(startIndex, offsetBy: limit)
        while utf8[end] & 0xC0 == 0x80 { utf8.formIndex(before: &end) }
        return String(self[..<end])
    }
}

/// The unit of a duration on the wire, in units per second.
enum WireTimeUnit: UInt64 {
    case seconds = 1
    case milliseconds = 1_000
    case microseconds = 1_000_000
}

extension Duration {
    init(wireCount count: UInt32, _ unit: WireTimeUnit) {
        switch unit {
        case .seconds: self = .seconds(count)
        case .milliseconds: self = .milliseconds(count)
        case .microseconds: self = .microseconds(count)
        }
    }

    /// Returns the duration in whole units, rounded down and clamped to 32 bits.
    func wireCount(_ unit: WireTimeUnit) -> UInt32 {
        let (seconds, attoseconds) = components
        guard seconds >= 0, attoseconds >= 0 else { return 0 }
        guard seconds <= UInt32.max else { return .max }
        // The operands are below 2^32 · 10^6 and 10^6, so neither the product nor the sum overflows.
        let whole = UInt64(seconds) * unit.rawValue
        return UInt32(clamping: whole + UInt64(attoseconds) / (1_000_000_000_000_000_000 / unit.rawValue))
    }

    /// Returns the duration rounded down to a value that the wire can represent, so that a frame equals its parsed
    /// copy.
    func roundedDown(to unit: WireTimeUnit) -> Duration {
        Duration(wireCount: wireCount(unit), unit)
    }
}
