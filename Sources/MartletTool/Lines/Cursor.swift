import Martlet
import MartletWire

/// The position of a listener in the log of a room, and the length of its output file at that position.
///
/// The process may end between writing lines and writing the cursor. If the output is a file, the cursor therefore
/// contains the identity and the length of the file. Later bytes of the file are lines after the cursor, which are not
/// written again (see ``WrittenTail``).
struct Cursor: Equatable, Sendable {
    /// A file and an offset in it.
    struct Place: Equatable, Sendable {
        var device: UInt64
        var file: UInt64
        var byteCount: UInt64
    }

    /// The offset of the last written message, 0 if there is none, and its log.
    var room: RoomCursor
    /// The name of the room; nil in a cursor of an earlier version.
    var roomName: RoomName?
    /// The end of the output; nil if the output is not a file.
    var place: Place?

    init(_ room: RoomCursor, of roomName: RoomName? = nil, place: Place? = nil) {
        self.room = room
        self.roomName = roomName
        self.place = place
    }

    /// The maximum number of bytes of a cursor's text, with a margin.
    static let maxTextByteCount = 4_096

    /// The text of the cursor, one line: the word `martlet-cursor`, the offset, `log=` and the log in hexadecimal if it
    /// is known, `room=` and the percent-encoded name of the room, and the device, the number and the length of the
    /// file if there is one.
    var text: String {
        var words = ["martlet-cursor", "\(room.offset)"]
        if let log = room.log { words.append(Self.logPrefix + String(log.rawValue, radix: 16)) }
        if let roomName { words.append(Self.roomPrefix + Self.percentEncoded(roomName)) }
        if let place { words += ["\(place.device)", "\(place.file)", "\(place.byteCount)"] }
        return words.joined(separator: " ") + "\n"
    }

    /// Parses a text; nil if it is not a cursor.
    init?(_ text: String) {
        guard text.hasSuffix("\n") else { return nil }
        var words = text.dropLast().split(separator: " ", omittingEmptySubsequences: false)
        var log: LogID?
        if let word = Self.remove(Self.logPrefix, from: &words) {
            guard let number = UInt64(word, radix: 16) else { return nil }
            log = LogID(rawValue: number)
        }
        var roomName: RoomName?
        if let word = Self.remove(Self.roomPrefix, from: &words) {
            guard let name = Self.decoded(word).flatMap({ RoomName($0) }) else { return nil }
            roomName = name
        }
        let numbers = words.dropFirst().compactMap { UInt64($0) }
        guard words.first == "martlet-cursor", numbers.count == words.count - 1 else { return nil }
        switch numbers.count {
        case 1: self.init(RoomCursor(log: log, offset: numbers[0]), of: roomName)
        case 4:
            let place = Place(device: numbers[1], file: numbers[2], byteCount: numbers[3])
            self.init(RoomCursor(log: log, offset: numbers[0]), of: roomName, place: place)
        default: return nil
        }
    }

    private static let logPrefix = "log="
    private static let roomPrefix = "room="

    /// Removes the third word if it has the prefix, and returns the rest of the word.
    private static func remove(_ prefix: String, from words: inout [Substring]) -> Substring? {
        guard words.count > 2, words[2].hasPrefix(prefix) else { return nil }
        return words.remove(at: 2).dropFirst(prefix.count)
    }

    /// Returns a name in percent-encoding: letters, digits and `-._~` unchanged, other bytes as `%XX`.
    private static func percentEncoded(_ name: RoomName) -> String {
        name.text.utf8.map { byte in
            if unreserved.contains(byte) { return String(Unicode.Scalar(byte)) }
            return (byte < 16 ? "%0" : "%") + String(byte, radix: 16, uppercase: true)
        }
        .joined()
    }

    /// Returns a text without its percent-encoding; nil if it is not valid.
    private static func decoded(_ text: Substring) -> String? {
        let parts = text.utf8.split(separator: UInt8(ascii: "%"), omittingEmptySubsequences: false)
        var bytes = Array(parts[0])
        for part in parts.dropFirst() {
            let digits = part.prefix(2).compactMap { Character(Unicode.Scalar($0)).hexDigitValue }
            guard digits.count == 2 else { return nil }
            bytes.append(UInt8(digits[0] << 4 | digits[1]))
            bytes += part.dropFirst(2)
        }
        return String(validating: bytes, as: UTF8.self)
    }

    private static let unreserved = Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~".utf8)
}

/// The bytes that a previous run wrote after its last cursor. The next output begins with them.
struct WrittenTail: Equatable, Sendable {
    private var bytes: ArraySlice<UInt8>

    init(_ bytes: [UInt8]) { self.bytes = bytes[...] }

    /// Removes the bytes that were already written, and returns the rest of `output`. From the first different byte on
    /// nothing is removed, because another process wrote to the file.
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
