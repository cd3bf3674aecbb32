/// A key, or pasted text.
enum Key: Equatable, Sendable {
    case character(Character)
    /// Pasted text with its newlines.
    case paste(String)
    case enter, tab, escape, backspace, delete
    case left, right, up, down, home, end, pageUp, pageDown, wordLeft, wordRight
    /// A letter with the control key.
    case control(Character)
}

/// A decoder that converts the input of a terminal in raw mode to keys. Sequences and characters may be split at any
/// byte.
struct KeyDecoder: Sendable {
    /// The maximum number of bytes of a known sequence.
    private static let maxSequenceByteCount = 32
    /// The maximum number of bytes of pasted text. Longer text is divided.
    static let maxPasteByteCount = 64 << 10

    private static let pasteBegin = Array("\u{1B}[200~".utf8)
    private static let pasteEnd = Array("\u{1B}[201~".utf8)

    private var pending: [UInt8] = []
    private var pasted: [UInt8]?

    init() {}

    /// Returns the completed keys. An escape at the end of the bytes counts as the key.
    mutating func decode(_ bytes: some Sequence<UInt8>) -> [Key] {
        pending += bytes
        var keys: [Key] = []
        while !pending.isEmpty {
            if pasted != nil {
                guard let key = takePaste() else { break }
                keys.append(key)
                continue
            }
            guard let (key, length) = first() else { break }
            pending.removeFirst(length)
            if let key { keys.append(key) }
        }
        return keys
    }

    /// Returns the first key and its number of bytes; no key for an unknown sequence; nil if the sequence is
    /// incomplete.
    private mutating func first() -> (Key?, Int)? {
        switch pending[0] {
        case 0x1B: sequence()
        case 0x0D, 0x0A: (.enter, 1)
        case 0x09: (.tab, 1)
        case 0x7F, 0x08: (.backspace, 1)
        case 0x01...0x1A: (.control(Character(Unicode.Scalar(pending[0] + 0x60))), 1)
        case 0x20...0x7E: (.character(Character(Unicode.Scalar(pending[0]))), 1)
        case 0x80...: character()
        default: (nil, 1)
        }
    }

    private func character() -> (Key?, Int)? {
        let length = pending[0] >= 0xF0 ? 4 : pending[0] >= 0xE0 ? 3 : pending[0] >= 0xC0 ? 2 : 1
        if pending.count < length { return nil }
        guard let text = String(validating: pending.prefix(length), as: UTF8.self), let character = text.first else {
            return (nil, 1)
        }
        return (.character(character), length)
    }

    private mutating func sequence() -> (Key?, Int)? {
        if pending.count == 1 { return (.escape, 1) }
        if pending.starts(with: Self.pasteBegin) {
            pasted = []
            return (nil, Self.pasteBegin.count)
        }
        switch pending[1] {
        case UInt8(ascii: "["), UInt8(ascii: "O"):
            guard let last = pending.dropFirst(2).firstIndex(where: { (0x40...0x7E).contains($0) }) else {
                return pending.count > Self.maxSequenceByteCount ? (nil, pending.count) : nil
            }
            return (Self.keys[String(decoding: pending[2...last], as: UTF8.self)], last + 1)
        case UInt8(ascii: "b"): return (.wordLeft, 2)
        case UInt8(ascii: "f"): return (.wordRight, 2)
        default: return (.escape, 1)
        }
    }

    private mutating func takePaste() -> Key? {
        let end = pending.indices.first { pending[$0...].starts(with: Self.pasteEnd) }
        let taken = end ?? max(pending.count - Self.pasteEnd.count, 0)
        let room = Self.maxPasteByteCount - (pasted?.count ?? 0)
        pasted?.append(contentsOf: pending.prefix(min(taken, room)))
        pending.removeFirst(end.map { $0 + Self.pasteEnd.count } ?? taken)
        guard end != nil, let text = pasted else { return nil }
        pasted = nil
        return .paste(String(decoding: text, as: UTF8.self))
    }

    private static let keys: [String: Key] = [
        "A": .up, "B": .down, "C": .right, "D": .left, "H": .home, "F": .end, "1~": .home, "7~": .home, "4~": .end,
        "8~": .end, "3~": .delete, "5~": .pageUp, "6~": .pageDown, "1;5C": .wordRight, "1;5D": .wordLeft,
        "1;3C": .wordRight, "1;3D": .wordLeft,
    ]
}
