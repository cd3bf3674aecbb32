/// How far a listener has come, and how much of its output file that is.
///
/// Between writing lines and writing the cursor the process may die. When the output is a file, the cursor says how
/// long the file was and which file: what lies behind that are lines written after the last cursor, and they are not
/// written again (see ``WrittenTail``).
struct Cursor: Equatable, Sendable {
    /// A file and a place in it.
    struct Place: Equatable, Sendable {
        var device: UInt64
        var file: UInt64
        var byteCount: UInt64
    }

    /// The offset of the last message that was written; 0 when there is none.
    var offset: UInt64
    /// Where the output ended; `nil` when it is not a file.
    var place: Place?

    init(offset: UInt64, place: Place? = nil) {
        self.offset = offset
        self.place = place
    }

    /// The longest text that a cursor has, with space to spare.
    static let maxTextByteCount = 4_096

    /// The cursor's text: one line of two or five words.
    var text: String {
        let words =
            ["martlet-cursor", "\(offset)"] + (place.map { ["\($0.device)", "\($0.file)", "\($0.byteCount)"] } ?? [])
        return words.joined(separator: " ") + "\n"
    }

    /// The cursor in a text, or `nil` when there is none in it.
    init?(_ text: String) {
        guard text.hasSuffix("\n") else { return nil }
        let words = text.dropLast().split(separator: " ", omittingEmptySubsequences: false)
        let numbers = words.dropFirst().compactMap { UInt64($0) }
        guard words.first == "martlet-cursor", numbers.count == words.count - 1 else { return nil }
        switch numbers.count {
        case 1: self.init(offset: numbers[0])
        case 4:
            self.init(offset: numbers[0], place: Place(device: numbers[1], file: numbers[2], byteCount: numbers[3]))
        default: return nil
        }
    }
}

/// Bytes that a former run wrote after its last cursor: they are the beginning of what comes next.
struct WrittenTail: Equatable, Sendable {
    private var bytes: ArraySlice<UInt8>

    init(_ bytes: [UInt8]) { self.bytes = bytes[...] }

    /// What of `output` is still to be written. From the first byte that differs on, all of it is: then somebody else
    /// wrote to the file.
    mutating func remove(from output: [UInt8]) -> ArraySlice<UInt8> {
        if bytes.isEmpty { return output[...] }
        let count = min(bytes.count, output.count)
        guard bytes.prefix(count).elementsEqual(output.prefix(count)) else {
            bytes = []
            return output[...]
        }
        bytes.removeFirst(count)
        return output[count...]
    }
}
