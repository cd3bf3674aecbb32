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
        /// Of the client's body.
        var layout: BodyLayout
    }

    /// Whose messages they are; nil when there are none.
    private(set) var poster: MemberHandle?
    /// The poster's device, by its place among the room's marks.
    private(set) var mark = 0
    private var acceptedAt: UInt64 = 0
    private var sender: DeviceKey?
    private var firstOffset: UInt64 = 0
    private var lastCounter: UInt64 = 0
    private var bodies = RelayBodies()
    private var posts: [Post] = []

    /// Messages written so far.
    var count: Int { posts.count }

    /// The room they are for; nil when there are none.
    var room: Int32? { poster?.room }

    /// What the relay puts in front of each message, in bytes.
    var stampByteCount: Int { bodies.stampByteCount }

    /// Whether a message may be written behind those that are there. Nothing more is to be asked of its counter then:
    /// those that are higher than one that is new are new.
    @inline(__always)
    func takes(_ message: ClientMessage, from poster: MemberHandle, at acceptedAt: UInt64) -> Bool {
        message.counter > lastCounter && !DeviceMark.isTooFar(message.counter, above: lastCounter)
            && self.poster == poster && self.acceptedAt == acceptedAt
            && message.byteCount <= RoomDraft.maxSharingByteCount
            && bodies.byteCount + bodies.stampByteCount + message.byteCount <= RoomDraft.maxByteCount
    }

    /// Begins anew with somebody.
    ///
    /// - Parameters:
    ///   - mark: the device's place among the room's marks.
    ///   - watermark: the device's highest counter.
    mutating func begin(
        poster: MemberHandle, mark: Int, sender: DeviceKey, watermark: UInt64, acceptedAt: UInt64, firstOffset: UInt64
    ) {
        self.poster = poster
        self.mark = mark
        self.acceptedAt = acceptedAt
        self.sender = sender
        self.firstOffset = firstOffset
        lastCounter = watermark
        bodies.begin(acceptedAt: acceptedAt, sender: sender.account, device: sender.device)
    }

    /// Writes a message behind those that are there; returns how long it is with its stamp.
    mutating func append(_ message: ClientMessage) -> Int {
        bodies.append(offset: firstOffset + UInt64(posts.count), message)
        posts.append(Post(counter: message.counter, end: bodies.byteCount, layout: message.layout))
        lastCounter = max(lastCounter, message.counter)
        return bodies.stampByteCount + message.byteCount
    }

    /// Appends the messages' entries, and is empty.
    ///
    /// - Parameter areSummed: whether checksums of the bodies are needed, for members that read no packets.
    mutating func close(into entries: inout [LogEntry], areSummed: Bool) {
        guard let sender else { return }
        // A copy of the right size; the draft's own memory serves the next.
        let storage = bodies.bytes
        if posts.count == 1 {
            // It may be longer than a fragment.
            let body = EncodedBody(storage, layout: posts[0].layout.stamped, isSummed: areSummed)
            entries.append(entry(0, body, of: sender))
        } else {
            var start = 0
            for index in posts.indices {
                let body = EncodedBody(
                    storage, range: start..<posts[index].end, layout: posts[index].layout.stamped, isSummed: areSummed)
                entries.append(entry(index, body, of: sender))
                start = posts[index].end
            }
        }
        poster = nil
        self.sender = nil
        posts.removeAll(keepingCapacity: true)
        // A long message's memory is not kept for short ones.
        if storage.count > RoomDraft.maxByteCount { bodies = RelayBodies() }
    }

    @inline(__always)
    private func entry(_ index: Int, _ body: consuming EncodedBody, of sender: DeviceKey) -> LogEntry {
        LogEntry(
            offset: firstOffset + UInt64(index), sender: sender.account, device: sender.device,
            counter: posts[index].counter, acceptedAt: acceptedAt, body: body, mark: Int32(mark))
    }
}
