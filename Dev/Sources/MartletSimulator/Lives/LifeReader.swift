import Martlet
import MartletLink
import MartletWire

/// The messages of one room that the application of one device has seen, over all its lives.
///
/// | offset | meaning |
/// |---|---|
/// | handled | the application has acknowledged, or handled, the messages up to it |
/// | mayBeHandled | an acknowledgement up to it may have been stored, such as one of a client that was stopped |
/// | shown | the last message of the current iteration |
///
/// All offsets are of one log. When a message of another log is shown, they are lowered to the offset up to which both
/// logs have the same messages.
final class LifeReader: @unchecked Sendable {  // used by the thread that runs the world
    let room: RoomName
    private let device: Int
    private let ownIDs: () -> Set<DeviceID>
    private let ledger: Ledger
    private var log: LogID?
    private(set) var handled: UInt64 = 0
    private(set) var mayBeHandled: UInt64 = 0
    private var shown: UInt64 = 0
    /// The handled offsets with their times, until they are durable.
    private var recent: [(at: Instant, offset: UInt64)] = []

    /// - Parameter ownIDs: The IDs that the device has had. Their messages can be left out.
    init(_ room: RoomName, device: Int, ownIDs: @escaping () -> Set<DeviceID>, _ ledger: Ledger) {
        self.room = room
        self.device = device
        self.ownIDs = ownIDs
        self.ledger = ledger
    }

    /// Whether all messages of other devices are handled.
    var hasHandledAll: Bool {
        let ids = ownIDs()
        let lastForeign = ledger.logs[room].last { !ids.contains($0.id.device) }?.offset ?? 0
        return min(mayBeHandled, ledger.logs.branch(of: log, in: room) ?? 0) >= lastForeign
    }

    /// A life, or an iteration over deliveries, begins with the first message that is not handled.
    func begin() {
        shown = handled
    }

    func show(_ message: RoomMessage) {
        ledger.note(device, "shows", message.offset)
        // A loop begins with deliveries of an earlier log that were not acknowledged.
        let isFormer = ledger.logs.branch(of: log, to: message.cursor.log, in: room) == nil
        if !isFormer { follow(message.cursor.log) }
        let isErased = message.content.isErased
        ledger.delivered(
            message.id, message.text, isErased: isErased, at: message.cursor, in: room, after: isFormer ? 0 : shown,
            to: device)
        guard !isFormer else { return }
        let known = max(shown, mayBeHandled)
        if message.offset > known + 1 {
            let ids = ownIDs()
            let skipped = (known + 1..<message.offset).filter { offset in
                ledger.logs.entry(at: offset, in: room, of: log).map { !ids.contains($0.id.device) } ?? true
            }
            if let first = skipped.first {
                ledger.fail(
                    .noMessageFails,
                    "device \(device) shows \(message.offset) of \(room) without \(first), handled \(handled)")
            }
        }
        shown = max(shown, message.offset)
    }

    /// Begins another log, whose messages up to the branch are known.
    private func follow(_ other: LogID?) {
        guard other != log else { return }
        let branch = ledger.logs.branch(of: log, to: other, in: room) ?? 0
        log = other
        (handled, mayBeHandled, shown) = (min(handled, branch), min(mayBeHandled, branch), min(shown, branch))
        recent = recent.map { ($0.at, min($0.offset, branch)) }
    }

    /// Reports an acknowledgement whose outcome is not known. One of an earlier log has no effect.
    func beginHandling(upTo cursor: RoomCursor) {
        if cursor.log == log { mayBeHandled = max(mayBeHandled, cursor.offset) }
    }

    /// Reports that the outbox has stored an acknowledgement.
    func endHandling(upTo cursor: RoomCursor) {
        if cursor.log == log { handled = max(handled, cursor.offset) }
    }

    /// Reports that nothing was stored.
    func refuseHandling(upTo offset: UInt64, before: UInt64) {
        if mayBeHandled == offset { mayBeHandled = max(before, handled) }
    }

    /// Reports that a file has another cursor: an earlier copy of it, or one that stores each message.
    func restore(_ cursor: RoomCursor?) {
        log = cursor?.log
        handled = cursor?.offset ?? 0
        mayBeHandled = handled
        recent = handled > 0 ? [(ledger.now, handled)] : []
    }

    // MARK: - Without acknowledgements

    /// Reports that the application requests the next message.
    func requestNext() {
        guard shown > handled else { return }
        handled = shown
        mayBeHandled = max(mayBeHandled, handled)
        recent.append((ledger.now, handled))
        if recent.count > 256 { recent.removeFirst() }
    }

    /// Reports that the application requests the next message of a client that may have ended.
    func mayRequestNext() {
        mayBeHandled = max(mayBeHandled, shown)
    }

    /// Reports that the process was killed. Messages that were handled shortly before may be shown again.
    func killed(durableAfter delay: Duration) {
        handled = recent.last { $0.at + delay <= ledger.now }?.offset ?? 0
        recent = handled > 0 ? [(ledger.now, handled)] : []
    }
}
