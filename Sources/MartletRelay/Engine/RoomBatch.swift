import MartletLink
import MartletWire

/// The batch under construction: consecutive messages of one device to one room, before they become entries of its log.
///
/// Small bodies share one storage, so that a message needs no object of its own. A queue that retains one of them
/// retains the storage: at most `maxByteCount` more than its own bytes. All messages are of one device, so a member
/// receives all of them or none, and a queue retains whole batches except at its ends. A large message has a storage of
/// its own.
///
/// | state | owns | ends |
/// |---|---|---|
/// | empty | memory for the next batch | `begin` |
/// | open | a publisher, its messages | `close`: another publisher, another time, the end of the turn |
struct RoomBatch: ~Copyable, Sendable {
    /// The maximum number of bytes of bodies that share a storage.
    static let maxByteCount = 16 * 1024
    /// The maximum number of bytes of a body, before it is stamped, that shares a storage.
    static let maxSharingByteCount = 2048

    private struct Position: Sendable {
        var counter: UInt64
        var end: Int
        /// The layout of the client's body.
        var layout: BodyLayout
        var digest: UInt16
    }

    /// The publisher of the messages; nil when there are none.
    private(set) var publisher: MemberHandle?
    /// The index of the publisher's deduplication window.
    private(set) var window = 0
    private var acceptedAt: UInt64 = 0
    private var sender: DeviceKey?
    private var firstOffset: UInt64 = 0
    private var lastCounter: UInt64 = 0
    private var bodies = RelayBodies()
    private var positions: [Position] = []

    /// Messages in the batch.
    var count: Int { positions.count }

    /// The room of the messages; nil when there are none.
    var room: Int32? { publisher?.room }

    /// Bytes that the relay adds to each message.
    var stampByteCount: Int { bodies.stampByteCount }

    /// Whether a message may be appended. Its counter needs no other check: a counter above a new one is new.
    @inline(__always)
    func takes(_ message: ClientMessage, from publisher: MemberHandle, at acceptedAt: UInt64) -> Bool {
        message.counter > lastCounter && !DeduplicationWindow.isTooFar(message.counter, above: lastCounter)
            && self.publisher == publisher && self.acceptedAt == acceptedAt
            && message.byteCount <= RoomBatch.maxSharingByteCount
            && bodies.byteCount + bodies.stampByteCount + message.byteCount <= RoomBatch.maxByteCount
    }

    /// Opens the batch for a publisher.
    ///
    /// - Parameters:
    ///   - window: the index of the device's deduplication window.
    ///   - watermark: the device's highest counter.
    mutating func begin(
        publisher: MemberHandle, window: Int, sender: DeviceKey, watermark: UInt64, acceptedAt: UInt64,
        firstOffset: UInt64
    ) {
        self.publisher = publisher
        self.window = window
        self.acceptedAt = acceptedAt
        self.sender = sender
        self.firstOffset = firstOffset
        lastCounter = watermark
        bodies.begin(acceptedAt: acceptedAt, sender: sender.account, device: sender.device)
    }

    /// Appends a message. Returns its bytes with the stamp.
    mutating func append(_ message: ClientMessage) -> Int {
        bodies.append(offset: firstOffset + UInt64(positions.count), message)
        positions.append(
            Position(
                counter: message.counter, end: bodies.byteCount, layout: message.layout, digest: message.digest))
        lastCounter = max(lastCounter, message.counter)
        return bodies.stampByteCount + message.byteCount
    }

    /// Appends the entries of the messages to the log's, and empties the batch.
    ///
    /// - Parameter areSummed: whether members that read no packets need checksums of the bodies.
    mutating func close(into entries: inout [LogEntry], areSummed: Bool) {
        guard let sender else { return }
        // A copy of the right size; the batch keeps its memory for the next messages.
        let storage = bodies.bytes
        if positions.count == 1 {
            // The message may be longer than a fragment.
            let body = EncodedBody(storage, layout: positions[0].layout.stamped, isSummed: areSummed)
            entries.append(entry(0, body, of: sender))
        } else {
            var start = 0
            for index in positions.indices {
                let body = EncodedBody(
                    storage, range: start..<positions[index].end, layout: positions[index].layout.stamped,
                    isSummed: areSummed)
                entries.append(entry(index, body, of: sender))
                start = positions[index].end
            }
        }
        publisher = nil
        self.sender = nil
        positions.removeAll(keepingCapacity: true)
        // The memory of a long message is not kept for short ones.
        if storage.count > RoomBatch.maxByteCount { bodies = RelayBodies() }
    }

    @inline(__always)
    private func entry(_ index: Int, _ body: consuming EncodedBody, of sender: DeviceKey) -> LogEntry {
        LogEntry(
            offset: firstOffset + UInt64(index), sender: sender.account, device: sender.device,
            counter: positions[index].counter, acceptedAt: acceptedAt, body: body, window: Int32(window),
            digest: positions[index].digest)
    }
}
