import MartletWire

/// Messages of one device to one room that came one behind the other in a turn, before they become entries of its log.
///
/// Small bodies are written behind each other and get one storage together, so a message costs no object of its own.
/// Who keeps one of them keeps the storage: at most `maxByteCount` more than its own bytes. Since they are one device's
/// only, no member gets one and is spared the next; what a member, a log or a queue holds of a draft's messages is a
/// row, and but for its ends whole drafts. A large message has a storage of its own.
struct RoomDraft: ~Copyable, Sendable {
    /// Bytes of bodies that share a storage at the most.
    static let maxByteCount = 16 * 1024
    /// A body that is longer, before it is stamped, has a storage of its own.
    static let maxSharingByteCount = 2048

    private struct Post: Sendable {
        var counter: UInt64
        var end: Int
    }

    private(set) var room: Int32?
    private var mark = 0
    private var acceptedAt: UInt64 = 0
    private var sender: DeviceKey?
    private var firstOffset: UInt64 = 0
    private var bodies = RelayBodies()
    private var posts: [Post] = []

    /// Messages written so far.
    var count: Int { posts.count }

    /// Whether a message may be written behind those that are there.
    func takes(_ body: RawSpan, from mark: Int, at acceptedAt: UInt64) -> Bool {
        room != nil && self.mark == mark && self.acceptedAt == acceptedAt
            && body.byteCount <= RoomDraft.maxSharingByteCount
            && bodies.byteCount + bodies.stampByteCount + body.byteCount <= RoomDraft.maxByteCount
    }

    /// Begins anew with a device, given with its place among the room's marks.
    mutating func begin(room: Int32, mark: Int, sender: DeviceKey, acceptedAt: UInt64, firstOffset: UInt64) {
        self.room = room
        self.mark = mark
        self.acceptedAt = acceptedAt
        self.sender = sender
        self.firstOffset = firstOffset
        bodies.begin(acceptedAt: acceptedAt, sender: sender.account, device: sender.device)
    }

    /// Writes a message behind those that are there; returns how long it is with its stamp.
    mutating func append(_ body: RawSpan, counter: UInt64) -> Int {
        bodies.append(offset: firstOffset + UInt64(posts.count), clientBody: body)
        posts.append(Post(counter: counter, end: bodies.byteCount))
        return bodies.stampByteCount + body.byteCount
    }

    /// Appends the messages' entries, and is empty.
    mutating func close(into entries: inout [LogEntry]) {
        guard let sender else { return }
        // A copy of the right size; the draft's own memory serves the next.
        let storage = bodies.bytes
        var start = 0
        for index in posts.indices {
            let post = posts[index]
            // What is longer than a fragment is alone.
            let body =
                posts.count == 1 ? EncodedBody(storage) : EncodedBody(storage, range: start..<post.end)
            entries.append(
                LogEntry(
                    offset: firstOffset + UInt64(index), sender: sender.account, device: sender.device,
                    counter: post.counter, acceptedAt: acceptedAt, body: body, mark: Int32(mark)))
            start = post.end
        }
        room = nil
        self.sender = nil
        posts.removeAll(keepingCapacity: true)
        // A long message's memory is not kept for short ones.
        if storage.count > RoomDraft.maxByteCount { bodies = RelayBodies() }
    }
}
