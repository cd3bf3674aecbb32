import MartletWire

/// An input that is read as a program: each decision consumes a few bytes, and is zero at the end of the input.
///
/// Small bytes give small and common values, so a shorter input is also a simpler one.
struct ByteProgram {
    private let program: [UInt8]
    private var offset = 0

    init(_ input: RawSpan) {
        program = [UInt8](copying: input)
    }

    var isAtEnd: Bool { offset == program.count }
    var remainingByteCount: Int { program.count - offset }

    mutating func byte() -> UInt8 {
        guard offset < program.count else { return 0 }
        defer { offset += 1 }
        return program[offset]
    }

    mutating func bool() -> Bool { byte() & 1 == 1 }

    /// An integer with as many bytes as its type has.
    mutating func integer<Value: FixedWidthInteger & UnsignedInteger>(_: Value.Type = Value.self) -> Value {
        var value: Value = 0
        for _ in 0..<Value.bitWidth / 8 { value = value << 8 | Value(byte()) }
        return value
    }

    /// A number below `bound`; bounds up to 256 consume one byte.
    mutating func below(_ bound: Int) -> Int {
        bound <= 256 ? Int(byte()) % bound : Int(integer(UInt32.self)) % bound
    }

    mutating func pick<Element>(_ elements: [Element]) -> Element { elements[below(elements.count)] }

    /// A small number, a boundary value of arithmetic, or an arbitrary number.
    mutating func number() -> UInt64 {
        let kind = byte()
        switch kind {
        case 0..<0xE0: return UInt64(kind)
        case 0xE0..<0xE8: return UInt64(integer(UInt16.self))
        case 0xE8..<0xF0: return .max - UInt64(kind & 7)
        case 0xF0..<0xF4: return (1 << 63) - 2 + UInt64(kind & 3)
        case 0xF4..<0xF8: return (1 << 32) - 2 + UInt64(kind & 3)
        default: return integer()
        }
    }

    /// The next bytes, fewer at the end.
    mutating func take(_ count: Int) -> [UInt8] {
        let end = min(offset + max(count, 0), program.count)
        defer { offset = end }
        return Array(program[offset..<end])
    }

    mutating func rest() -> [UInt8] { take(remainingByteCount) }

    /// As many bytes as the next byte says, times `unit`.
    mutating func string(unit: Int = 1) -> [UInt8] { take(Int(byte()) * unit) }

    /// A text of at most `maxByteCount` bytes; ill-formed UTF-8 is replaced.
    mutating func text(maxByteCount: Int) -> String {
        var text = String(decoding: take(below(min(maxByteCount, 255) + 1)), as: UTF8.self)
        while text.utf8.count > maxByteCount { text.unicodeScalars.removeLast() }
        return text
    }

    /// A valid name, usually one of a few.
    mutating func name<Name: WireName>(_: Name.Type = Name.self) -> Name {
        let usual = ["lobby", "mallory", "alice", "relayWorld", "eve", "echo"]
        let kind = Int(byte())
        if kind < 0xF0 { return Name(usual[kind % usual.count])! }
        return Name(text(maxByteCount: Name.maxByteCount)) ?? Name("a")!
    }

    /// A duration that a caller may pass, including negative and huge ones.
    mutating func duration() -> Duration {
        switch byte() & 7 {
        case 0: .zero
        case 1: .milliseconds(Int64(byte()) * 10)
        case 2: .seconds(Int64(integer(UInt16.self)))
        case 3: .nanoseconds(Int64(integer(UInt32.self)))
        case 4: .milliseconds(Int64(integer(UInt32.self)) + 1)
        case 5: .microseconds(Int64(bitPattern: integer()))
        case 6: .seconds(Int64.max)
        default: .seconds(Int64.min)
        }
    }
}
