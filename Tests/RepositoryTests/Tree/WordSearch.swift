extension StringProtocol {
    /// Whether `word` occurs where it is not part of a longer identifier.
    func containsWord(_ word: String) -> Bool {
        guard contains(word) else { return false }
        let bytes = Array(utf8)
        let wanted = Array(word.utf8)
        guard !wanted.isEmpty else { return false }
        return (0...bytes.count - wanted.count).contains { start in
            let end = start + wanted.count
            return bytes[start] == wanted[0] && bytes[start..<end].elementsEqual(wanted)
                && !(wanted[0].isInIdentifiers && start > 0 && bytes[start - 1].isInIdentifiers)
                && !(wanted[wanted.count - 1].isInIdentifiers && end < bytes.count && bytes[end].isInIdentifiers)
        }
    }
}

extension UInt8 {
    fileprivate var isInIdentifiers: Bool {
        switch self {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "_"), 0x80...:
            true
        default:
            false
        }
    }
}
