import Martlet
import MartletLink
import MartletWire
import Testing

@testable import MartletTimeline

/// A timeline of ada in a file of its own, and messages of the room `a`.
struct TimelineScript {
    static let log = LogID(rawValue: 0xA)

    let folder = TemporaryFolder()
    let timeline: Timeline

    init() async throws {
        timeline = try await Timeline(path: folder.file("timeline"), account: AccountName("ada"))
    }

    func id(_ counter: UInt64, _ sender: String = "bob") -> MessageID {
        MessageID(sender: AccountName(sender)!, device: DeviceID(rawValue: 7), counter: counter)
    }

    func reference(_ counter: UInt64, _ sender: String = "bob") -> MessageReference {
        MessageReference(id(counter, sender))
    }

    /// A message whose counter is its offset, unless another counter is given.
    func message(
        _ offset: UInt64, _ content: MessageContent, by sender: String = "bob", counter: UInt64? = nil,
        log: LogID? = log
    ) -> RoomItem {
        .message(
            RoomMessage(
                id: id(counter ?? offset, sender), at: RoomCursor(log: log, offset: offset), content: content,
                acceptedAt: 1000 + offset))
    }

    func text(_ offset: UInt64, _ text: String, by sender: String = "bob", log: LogID? = log) -> RoomItem {
        message(offset, MessageContent(text: text), by: sender, log: log)
    }

    func body(_ offset: UInt64, _ body: MessageBody, by sender: String = "bob") throws -> RoomItem {
        message(offset, try body.content, by: sender)
    }

    func apply(_ items: RoomItem...) async throws {
        try await timeline.apply(items, in: "a") { $0.text == "moderator" }
    }

    /// The last page in short form.
    func page(_ room: RoomName = "a") async throws -> [String] {
        try await timeline.page(of: room).map(Self.short)
    }

    /// The text or the kind of an entry, with marks: `*` edited, `…` pending, `!` failed, and reactions.
    static func short(_ entry: TimelineEntry) -> String {
        let text =
            switch entry.content {
            case .message(.text(let text)), .message(.reply(_, let text)): text
            case .message(let body): "\(body.kind.rawValue)"
            case .damaged: "damaged"
            case .deleted: "deleted"
            case .gap(let offsets): "gap \(offsets.lowerBound)-\(offsets.upperBound)"
            case .logReplaced: "log"
            }
        let state =
            switch entry.state {
            case .accepted: ""
            case .pending: "…"
            case .failed: "!"
            }
        let reactions = entry.reactions.map { " \($0.text)\($0.count)\($0.includesOwn ? "+" : "")" }.joined()
        return text + (entry.isEdited ? "*" : "") + state + reactions
    }
}
