import Martlet
import MartletProtocol
import MartletWire

/// The messages of one room that the application of one device has seen, over all its lives.
///
/// | offset | meaning |
/// |---|---|
/// | handled | the application has acknowledged, or handled, the messages up to it |
/// | mayBeHandled | an acknowledgement up to it may have been stored, such as one of a client that was stopped |
/// | shown | the last message of the present iteration |
final class LifeReader: @unchecked Sendable {  // used by the thread that runs the world
    let room: RoomName
    private let device: Int
    private let ownID: DeviceID
    private let ledger: LifeLedger
    private(set) var handled: UInt64 = 0
    private(set) var mayBeHandled: UInt64 = 0
    private var shown: UInt64 = 0
    /// The handled offsets with their times, until they are durable.
    private var recent: [(at: Instant, offset: UInt64)] = []

    init(_ room: RoomName, device: Int, ownID: DeviceID, _ ledger: LifeLedger) {
        self.room = room
        self.device = device
        self.ownID = ownID
        self.ledger = ledger
    }

    /// The last message of another device in the log.
    var lastForeign: UInt64 { ledger.log[room].last { $0.id.device != ownID }?.offset ?? 0 }

    /// A life, or an iteration over deliveries, begins with the first message that is not handled.
    func begin() {
        shown = handled
    }

    func show(_ message: RoomMessage) {
        ledger.note(device, "shows", message.offset)
        ledger.shown(message, in: room)
        if message.offset <= shown {
            ledger.fail(
                .shownOnceInOrder,
                "device \(device) shows \(message.offset) of \(room) after \(shown), handled \(handled)")
        }
        let known = max(shown, mayBeHandled)
        if message.offset > known + 1 {
            let skipped = (known + 1..<message.offset).filter {
                ledger.log.entry(at: $0, in: room)?.id.device != ownID
            }
            if let first = skipped.first {
                ledger.fail(
                    .nothingIsSkipped,
                    "device \(device) shows \(message.offset) of \(room) without \(first), handled \(handled)")
            }
        }
        shown = max(shown, message.offset)
    }

    /// Reports an acknowledgement whose outcome is not known.
    func beginHandling(upTo offset: UInt64) {
        mayBeHandled = max(mayBeHandled, offset)
    }

    /// Reports that the outbox has stored an acknowledgement.
    func endHandling(upTo offset: UInt64) {
        handled = max(handled, offset)
    }

    /// Reports that nothing was stored.
    func refuseHandling(upTo offset: UInt64, before: UInt64) {
        if mayBeHandled == offset { mayBeHandled = max(before, handled) }
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
