import MartletAuthentication
import MartletHTTP
import MartletLink
import MartletRelay
import MartletWire

/// The status cards of rooms as server-sent events, with the current ones for a reader that begins or continues.
///
/// An event is a JSON object with the members `room`, `account`, `id` and `status`, and unless the status is `removed`
/// also `title`, `details`, `time`, `url` and `accepted`, the time of the message. A card has one event, that of its
/// latest change.
struct CardEvents {
    /// The maximum number of bytes of the events of all rooms. Beyond it the earliest are dropped, so that they fit
    /// into a stream beside the samples.
    static let maxByteCount = 256 << 10

    /// A card of a room.
    private struct Place: Hashable {
        let room: RoomName
        let key: CardBoard.Key
    }

    private struct Event {
        let place: Place
        let id: UInt64
        let bytes: [UInt8]
    }

    /// The part of a room's log that was read.
    private struct Reading {
        var board = CardBoard()
        /// The last message that was read; nil before the first.
        var last: (offset: UInt64, message: MessageID)?
    }

    let rooms: [RoomName]
    /// The event in front of all cards for a reader that begins: the names of the rooms.
    let beginning: [UInt8]
    /// Whether a stored delete by an account erases messages of others.
    private let erasesOthers: @Sendable (AccountName) -> Bool
    private var readings: [RoomName: Reading] = [:]
    /// The events in the order of their positions.
    private var events: [Event] = []
    /// The position of the event of each card.
    private var ids: [Place: UInt64] = [:]
    private var byteCount = 0

    init(rooms: [RoomName], erasesOthers: @escaping @Sendable (AccountName) -> Bool) {
        self.rooms = rooms
        self.erasesOthers = erasesOthers
        let names = rooms.map(\.text.quotedAsJSON).joined(separator: ",")
        beginning = ServerSentEvent(type: "rooms", data: "[\(names)]").bytes
    }

    /// The offset from which to read a room: the last message again, which shows whether the log is still the same.
    func nextOffset(of room: RoomName) -> UInt64 { readings[room]?.last?.offset ?? 1 }

    /// Adds messages that were read from `nextOffset`. `nextID` returns the position of the next event. Returns whether
    /// there may be more messages.
    mutating func add(_ entries: [LogEntry], of room: RoomName, nextID: () -> UInt64) -> Bool {
        var reading = readings[room] ?? Reading()
        var entries = entries[...]
        if let last = reading.last {
            let isSame = entries.first.map { $0.offset > last.offset || $0.id == last.message } ?? false
            guard isSame else {
                for change in reading.board.truncate(after: 0) { add(change, of: room, nextID()) }
                readings[room] = nil
                return true
            }
            entries = entries.drop { $0.offset == last.offset }
        }
        for entry in entries {
            reading.last = (entry.offset, entry.id)
            let kind = MessageView.kind(in: entry.body.rawBytes)
            guard kind == .card || kind == .delete || kind == .erased,
                let message = try? Message(parsing: entry.body.rawBytes),
                let body = try? MessageBody(message.content),
                let change = reading.board.apply(
                    body, of: entry.id, at: entry.offset, acceptedAt: entry.acceptedAt,
                    isModerator: erasesOthers(entry.sender))
            else { continue }
            add(change, of: room, nextID())
        }
        readings[room] = reading
        return !entries.isEmpty
    }

    private mutating func add(_ change: CardBoard.Change, of room: RoomName, _ id: UInt64) {
        let (key, data) =
            switch change {
            case .shown(let entry): (entry.id, Self.json(entry, of: room))
            case .removed(let key): (key, "{\(Self.head(key, of: room)),\"status\":\"removed\"}")
            }
        let place = Place(room: room, key: key)
        if let old = ids[place] { byteCount -= events.remove(at: firstIndex(from: old)).bytes.count }
        let bytes = ServerSentEvent(id: id, type: "card", data: data).bytes
        ids[place] = id
        events.append(Event(place: place, id: id, bytes: bytes))
        byteCount += bytes.count
        while byteCount > Self.maxByteCount {
            let first = events.removeFirst()
            ids[first.place] = nil
            byteCount -= first.bytes.count
        }
    }

    /// The index of the first event from a position on.
    private func firstIndex(from id: UInt64) -> Int {
        var (low, high) = (0, events.count)
        while low < high {
            let middle = (low + high) / 2
            if events[middle].id < id { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// The events after a position in their order, with their positions; all of them for nil.
    func events(after id: UInt64?) -> [(id: UInt64, bytes: [UInt8])] {
        events[firstIndex(from: (id ?? 0) + 1)...].map { ($0.id, $0.bytes) }
    }

    private static func head(_ key: CardBoard.Key, of room: RoomName) -> String {
        "\"room\":\(room.text.quotedAsJSON),\"account\":\(key.account.text.quotedAsJSON),"
            + "\"id\":\(key.card.text.quotedAsJSON)"
    }

    private static func json(_ entry: CardBoard.Entry, of room: RoomName) -> String {
        let card = entry.card
        let details = card.details.map { "[\($0.key.quotedAsJSON),\($0.value.quotedAsJSON)]" }.joined(separator: ",")
        let url = card.url.map { ",\"url\":\($0.quotedAsJSON)" } ?? ""
        return "{\(head(entry.id, of: room)),\"status\":\"\(card.status.name)\",\"title\":\(card.title.quotedAsJSON),"
            + "\"details\":[\(details)],\"time\":\(entry.time),\"accepted\":\(entry.acceptedAt)\(url)}"
    }
}

extension LogEntry {
    var id: MessageID { MessageID(sender: sender, device: device, counter: counter) }
}
