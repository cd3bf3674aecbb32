/// Carries a value's parts into few bytes and out of them again.
///
/// One list of parts serves both ways, so that none is forgotten in one of them: packing reads each part and leaves it,
/// unpacking writes it. Numbers that are zero take a bit, others a byte for each seven of their bits; what is random
/// goes through ``passRaw(_:)`` as it is.
struct Packer {
    /// Bytes that a value may take when it is packed; one that takes more is not packed.
    static let maxByteCount = Int(UInt16.max)

    private var words: [UInt64] = []
    private var raw: [UInt8] = []
    private var wordPosition = 0
    private var rawPosition = 0
    private var lastInstant = Instant.zero
    private(set) var isUnpacking = false

    // MARK: Parts

    mutating func pass(_ word: inout UInt64) {
        guard isUnpacking else { return words.append(word) }
        word = words[wordPosition]
        wordPosition += 1
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
            word = 0
            for position in rawPosition..<rawPosition + 8 { word = word << 8 | UInt64(raw[position]) }
            rawPosition += 8
        } else {
            for shift in stride(from: 56, through: 0, by: -8) { raw.append(UInt8(truncatingIfNeeded: word >> shift)) }
        }
    }

    mutating func pass(_ text: inout String) {
        var count = text.utf8.count
        pass(&count)
        guard isUnpacking else { return raw.append(contentsOf: text.utf8) }
        text = String(decoding: raw[rawPosition..<rawPosition + count], as: UTF8.self)
        rawPosition += count
    }

    mutating func pass(_ bytes: inout [UInt8]) {
        var count = bytes.count
        pass(&count)
        guard isUnpacking else { return raw.append(contentsOf: bytes) }
        bytes = Array(raw[rawPosition..<rawPosition + count])
        rawPosition += count
    }

    // MARK: Bytes

    /// Makes ready to be passed a value's parts.
    mutating func beginPacking() {
        words.removeAll(keepingCapacity: true)
        raw.removeAll(keepingCapacity: true)
        lastInstant = .zero
        isUnpacking = false
    }

    /// What was passed: the number of words, then for each eight a byte that says which are not zero, and these, seven
    /// bits a byte; then what is raw.
    mutating func finishPacking(into bytes: inout [UInt8]) {
        bytes.removeAll(keepingCapacity: true)
        append(UInt64(words.count), to: &bytes)
        for start in stride(from: 0, to: words.count, by: 8) {
            let end = min(start + 8, words.count)
            var mask: UInt8 = 0
            for index in start..<end where words[index] != 0 { mask |= 1 << UInt8(index - start) }
            bytes.append(mask)
            for index in start..<end where words[index] != 0 { append(words[index], to: &bytes) }
        }
        bytes.append(contentsOf: raw)
    }

    /// Makes ready to pass out what `finishPacking` wrote.
    mutating func beginUnpacking(_ bytes: RawSpan) {
        beginPacking()
        wordPosition = 0
        rawPosition = 0
        isUnpacking = true
        var position = 0
        let count = Int(truncatingIfNeeded: Packer.word(bytes, &position))
        while words.count < count {
            var mask = bytes[byte: position]
            position += 1
            for _ in 0..<min(8, count - words.count) {
                words.append(mask & 1 == 0 ? 0 : Packer.word(bytes, &position))
                mask >>= 1
            }
        }
        for index in position..<bytes.byteCount { raw.append(bytes[byte: index]) }
    }

    private func append(_ word: UInt64, to bytes: inout [UInt8]) {
        var rest = word
        while rest >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        bytes.append(UInt8(rest))
    }

    private static func word(_ bytes: RawSpan, _ position: inout Int) -> UInt64 {
        var word: UInt64 = 0
        var shift: UInt64 = 0
        while true {
            let byte = bytes[byte: position]
            position += 1
            word |= UInt64(byte & 0x7F) << shift
            guard byte & 0x80 != 0 else { return word }
            shift += 7
        }
    }
}

extension RawSpan {
    fileprivate subscript(byte position: Int) -> UInt8 {
        unsafe unsafeLoad(fromByteOffset: position, as: UInt8.self)
    }
}
