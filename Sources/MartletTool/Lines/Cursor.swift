import Foundation
import Martlet
import MartletWire

/// How far a listener has come in which log of which room, and how much of its output file that is.
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
    /// The room's name; `nil` in a cursor of a version that did not write it.
    var roomName: RoomName?
    /// Where the output ended; `nil` when it is not a file.
    var place: Place?

    init(_ room: RoomCursor, of roomName: RoomName? = nil, place: Place? = nil) {
        self.room = room
        self.roomName = roomName
        self.place = place
    }

    /// The longest text that a cursor has, with space to spare.
    static let maxTextByteCount = 4_096

    /// The cursor's text, a line: the word `martlet-cursor`, the offset, `log=` and the log in hexadecimal where it is
    /// known, `room=` and the room's name in percent-encoding, and the place's device, file and length where there is
    /// one.
    var text: String {
        var words = ["martlet-cursor", "\(room.offset)"]
        if let log = room.log { words.append(Self.logPrefix + String(log.rawValue, radix: 16)) }
        if let roomName { words.append(Self.roomPrefix + Self.percentEncoded(roomName)) }
        if let place { words += ["\(place.device)", "\(place.file)", "\(place.byteCount)"] }
        return words.joined(separator: " ") + "\n"
    }

    /// The cursor in a text, or `nil` when there is none in it.
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
            guard let name = word.removingPercentEncoding.flatMap({ RoomName($0) }) else { return nil }
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

    /// Takes the third word away when it begins with the prefix, and gives what follows the prefix.
    private static func remove(_ prefix: String, from words: inout [Substring]) -> Substring? {
        guard words.count > 2, words[2].hasPrefix(prefix) else { return nil }
        return words.remove(at: 2).dropFirst(prefix.count)
    }

    /// The name without blanks: letters, digits and `-._~` as they are, other bytes as `%XX`.
    private static func percentEncoded(_ name: RoomName) -> String {
        name.text.addingPercentEncoding(withAllowedCharacters: unreserved) ?? ""
    }

    private static let unreserved = CharacterSet(
        charactersIn: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
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
