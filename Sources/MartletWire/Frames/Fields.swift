extension Optional {
    /// Sets the value of a field that a body may contain once (W-25).
    mutating func fill(_ tag: Tag, _ value: Wrapped) throws(WireError) {
        guard self == nil else { throw .duplicateField(tag) }
        self = value
    }

    /// Returns the value of a required field.
    func required(_ tag: Tag) throws(WireError) -> Wrapped {
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
        let number = try uint64()
        guard number >= 1 else { throw .invalidValue(tag) }
        return number
    }

    /// Returns the value of a Boolean field, 0 or 1.
    func bool() throws(WireError) -> Bool {
        switch try uint8() {
        case 0: return false
        case 1: return true
        default: throw .invalidValue(tag)
        }
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

    /// Returns the value of a field that contains a version, the major version in the high byte.
    func version() throws(WireError) -> WireVersion {
        WireVersion(packed: try uint16())
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

    mutating func append(_ tag: Tag, version: WireVersion) {
        append(tag, uint16: version.packed)
    }
}
