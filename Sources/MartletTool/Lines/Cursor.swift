import Martlet

/// How far a listener has come in which log, and how much of its output file that is.
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

    /// The place of the last message that was written; its offset is 0 when there is none.
    var room: RoomCursor
    /// Where the output ended; `nil` when it is not a file.
    var place: Place?

    init(_ room: RoomCursor, place: Place? = nil) {
        self.room = room
        self.place = place
    }

    /// The longest text that a cursor has, with space to spare.
    static let maxTextByteCount = 4_096

    /// The cursor's text, a line: the word `martlet-cursor`, the offset, `log=` and the log in hexadecimal where it is
    /// known, and the place's device, file and length where there is one.
    var text: String {
        var words = ["martlet-cursor", "\(room.offset)"]
        if let log = room.log { words.append(Self.logPrefix + String(log.rawValue, radix: 16)) }
        if let place { words += ["\(place.device)", "\(place.file)", "\(place.byteCount)"] }
        return words.joined(separator: " ") + "\n"
    }

    /// The cursor in a text, or `nil` when there is none in it.
    init?(_ text: String) {
        guard text.hasSuffix("\n") else { return nil }
        var words = text.dropLast().split(separator: " ", omittingEmptySubsequences: false)
        var log: LogID?
        if words.count > 2, words[2].hasPrefix(Self.logPrefix) {
            guard let number = UInt64(words[2].dropFirst(Self.logPrefix.count), radix: 16) else { return nil }
            log = LogID(rawValue: number)
            words.remove(at: 2)
        }
        let numbers = words.dropFirst().compactMap { UInt64($0) }
        guard words.first == "martlet-cursor", numbers.count == words.count - 1 else { return nil }
        switch numbers.count {
        case 1: self.init(RoomCursor(log: log, offset: numbers[0]))
        case 4:
            let place = Place(device: numbers[1], file: numbers[2], byteCount: numbers[3])
            self.init(RoomCursor(log: log, offset: numbers[0]), place: place)
        default: return nil
        }
    }

    private static let logPrefix = "log="
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
