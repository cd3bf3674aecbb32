extension Optional {
    /// Keeps the value of a field that a body may hold once (W-25).
    mutating func fill(_ tag: Tag, _ value: Wrapped) throws(WireError) {
        guard self == nil else { throw .duplicateField(tag) }
        self = value
    }

    /// The value of a field that a body must hold.
    func required(_ tag: Tag) throws(WireError) -> Wrapped {
        guard let self else { throw .missingField(tag) }
        return self
    }
}

extension Array {
    /// Keeps the value of a field that a body may hold up to `limit` times (W-25).
    mutating func append(_ value: Element, limit: Int) throws(WireError) {
        guard count < limit else { throw .tooManyTLVs(limit: limit) }
        append(value)
    }
}

extension TLVReader {
    /// A reader of a whole body whose structure has been checked to the bottom, so that a container that is passed over
    /// is as sound as one that is read.
    @_lifetime(copy body)
    init(wholeBody body: RawSpan) throws(WireError) {
        try TLVValidator.validate(body)
        self.init(body)
    }
}

extension TLVView {
    /// A counter or an offset: these start at 1.
    func positive() throws(WireError) -> UInt64 {
        let number = try uint64()
        guard number >= 1 else { throw .invalidValue(tag) }
        return number
    }

    /// A yes or no.
    func bool() throws(WireError) -> Bool {
        switch try uint8() {
        case 0: return false
        case 1: return true
        default: throw .invalidValue(tag)
        }
    }

    /// A name, within its type's rules.
    func name<Name: WireName>(_: Name.Type = Name.self) throws(WireError) -> Name {
        let text = try string(maxByteCount: Name.maxByteCount)
        guard let name = Name(text) else { throw .invalidValue(tag) }
        return name
    }

    /// A span of time in whole units.
    func duration(_ unit: WireTimeUnit) throws(WireError) -> Duration {
        Duration(wireCount: try uint32(), unit)
    }

    /// A version: major in the high byte.
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
