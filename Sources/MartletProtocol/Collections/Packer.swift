import MartletWire

/// Carries a value's parts into few bytes and out of them again.
///
/// One list of parts serves both ways, so that none is forgotten in one of them: packing reads each part and leaves it,
/// unpacking writes it. Numbers that are zero take a bit, others a byte for each seven of their bits; what is random
/// goes through ``passRaw(_:)`` as it is.
struct Packer {
    /// Bytes that a value may take when it is packed; one that takes more is not packed.
    static let maxByteCount = Int(UInt16.max)

    /// While packing, the words alone; while unpacking, all that was packed.
    private var bytes: [UInt8] = []
    private var raw: [UInt8] = []
    /// Where the next word lies while unpacking, and where its group's mask lies while packing.
    private var wordPosition = 0
    private var rawPosition = 0
    /// While unpacking, a bit for each of the group's words that are still to come, set when it is not zero, and a set
    /// one behind them.
    private var mask: UInt = 1
    /// Words of the group so far, while packing.
    private var groupCount = Packer.groupSize
    private var lastInstant = Instant.zero
    private(set) var isUnpacking = false

    /// Words that one mask speaks of.
    private static let groupSize = 8

    // MARK: Parts

    mutating func pass(_ word: inout UInt64) {
        guard isUnpacking else { return append(word) }
        if mask == 1 { mask = 1 << Self.groupSize | UInt(nextByte()) }
        word = mask & 1 == 0 ? 0 : nextNumber()
        mask >>= 1
    }

    mutating func pass<Number: FixedWidthInteger>(_ number: inout Number) {
        var word = UInt64(truncatingIfNeeded: number)
        pass(&word)
        number = Number(truncatingIfNeeded: word)
    }

    mutating func pass(_ flag: inout Bool) {
        var word: UInt64 = flag ? 1 : 0
        pass(&word)
        flag = word != 0
    }

    mutating func pass<Value: RawRepresentable>(_ value: inout Value) where Value.RawValue: FixedWidthInteger {
        var number = value.rawValue
        pass(&number)
        if isUnpacking, let known = Value(rawValue: number) { value = known }
    }

    /// A number that is mostly `usual`, or not far from it.
    mutating func pass<Number: FixedWidthInteger>(_ number: inout Number, near usual: Number) {
        let distance = Int64(truncatingIfNeeded: number &- usual)
        var word = UInt64(bitPattern: distance << 1 ^ distance >> 63)
        pass(&word)
        number = usual &+ Number(truncatingIfNeeded: Int64(bitPattern: word >> 1) ^ -Int64(bitPattern: word & 1))
    }

    /// The clock's origin stands for "never"; other instants are mostly near the one before.
    mutating func pass(_ instant: inout Instant) {
        var isSet = instant != .zero
        pass(&isSet)
        guard isSet else { return instant = .zero }
        pass(&instant.nanoseconds, near: lastInstant.nanoseconds)
        lastInstant = instant
    }

    /// In whole nanoseconds, as all that the protocol measures.
    mutating func pass(_ duration: inout Duration) {
        var nanoseconds = duration.nanoseconds
        pass(&nanoseconds, near: 0)
        duration = .nanoseconds(nanoseconds)
    }

    /// A value that may not be there; `blank` is any, for unpacking to write to.
    mutating func pass<Value>(
        _ optional: inout Value?, _ blank: @autoclosure () -> Value, _ pass: (inout Packer, inout Value) -> Void
    ) {
        var isThere = optional != nil
        self.pass(&isThere)
        guard isThere else { return optional = nil }
        var value = optional ?? blank()
        pass(&self, &value)
        if isUnpacking { optional = value }
    }

    mutating func pass(_ optional: inout Instant?) {
        pass(&optional, .zero) { $0.pass(&$1) }
    }

    mutating func pass(_ optional: inout Duration?) {
        pass(&optional, .zero) { $0.pass(&$1) }
    }

    mutating func pass<Number: FixedWidthInteger>(_ optional: inout Number?) {
        pass(&optional, 0) { $0.pass(&$1) }
    }

    /// As many values as there are, changed where they lie; `blank` is any, for unpacking to write to.
    mutating func pass<Value>(
        _ values: inout [Value], _ blank: @autoclosure () -> Value, _ pass: (inout Packer, inout Value) -> Void
    ) {
        var count = values.count
        self.pass(&count)
        if isUnpacking { values = Array(repeating: blank(), count: count) }
        for index in values.indices { pass(&self, &values[index]) }
    }

    mutating func pass<Value>(
        _ values: inout Deque<Value>, _ blank: @autoclosure () -> Value, _ pass: (inout Packer, inout Value) -> Void
    ) {
        var count = values.count
        self.pass(&count)
        if isUnpacking { values = Deque(repeatElement(blank(), count: count)) }
        for index in values.indices { pass(&self, &values[index]) }
    }

    /// A number that has no reason to be small: 8 bytes.
    mutating func passRaw(_ word: inout UInt64) {
        if isUnpacking {
            word = bytes.rawBytes.loadUInt64(at: rawPosition)
            rawPosition += 8
        } else {
            raw.append(bigEndian: word)
        }
    }

    mutating func pass(_ text: inout String) {
        var count = text.utf8.count
        pass(&count)
        guard isUnpacking else { return raw.append(contentsOf: text.utf8) }
        text = String(decoding: bytes[rawPosition..<rawPosition + count], as: UTF8.self)
        rawPosition += count
    }

    mutating func pass(_ bytes: inout [UInt8]) {
        var count = bytes.count
        pass(&count)
        guard isUnpacking else { return raw.append(contentsOf: bytes) }
        bytes = Array(self.bytes[rawPosition..<rawPosition + count])
        rawPosition += count
    }

    // MARK: Bytes

    /// Makes ready to be passed a value's parts.
    mutating func beginPacking() {
        bytes.removeAll(keepingCapacity: true)
        raw.removeAll(keepingCapacity: true)
        groupCount = Self.groupSize
        lastInstant = .zero
        isUnpacking = false
    }

    /// What was passed: how many bytes the words take, then for each eight a byte that says which are not zero, and
    /// these, seven bits a byte; then what is raw.
    mutating func finishPacking(into packed: inout [UInt8]) {
        packed.removeAll(keepingCapacity: true)
        Self.append(UInt64(bytes.count), to: &packed)
        packed += bytes
        packed += raw
    }

    /// Makes ready to pass out what `finishPacking` wrote.
    mutating func beginUnpacking(_ packed: RawSpan) {
        bytes.removeAll(keepingCapacity: true)
        bytes.append(bytes: packed)
        mask = 1
        lastInstant = .zero
        isUnpacking = true
        wordPosition = 0
        let byteCount = Int(truncatingIfNeeded: nextNumber())
        rawPosition = wordPosition + byteCount
    }

    private mutating func append(_ word: UInt64) {
        if groupCount == Self.groupSize {
            groupCount = 0
            wordPosition = bytes.count
            bytes.append(0)
        }
        if word != 0 {
            bytes[wordPosition] |= 1 << UInt8(truncatingIfNeeded: groupCount)
            Self.append(word, to: &bytes)
        }
        groupCount += 1
    }

    private static func append(_ word: UInt64, to bytes: inout [UInt8]) {
        var rest = word
        while rest >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        bytes.append(UInt8(rest))
    }

    private mutating func nextNumber() -> UInt64 {
        var word = UInt64(nextByte())
        guard word >= 0x80 else { return word }
        word &= 0x7F
        var shift: UInt64 = 7
        while true {
            let byte = nextByte()
            word |= UInt64(byte & 0x7F) << shift
            guard byte & 0x80 != 0 else { return word }
            shift += 7
        }
    }

    @inline(__always)
    private mutating func nextByte() -> UInt8 {
        defer { wordPosition += 1 }
        return bytes[wordPosition]
    }
}
