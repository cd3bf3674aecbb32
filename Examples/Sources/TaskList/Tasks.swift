import Martlet
import MartletTimeline

// snippet:begin
/// A command of a user, as the relay's log of the room keeps it.
enum TaskCommand: Codable {
    case add(title: String)
    case finish(task: String)
}

/// The read model: the tasks that the commands in the timeline of a room result in.
///
/// Each device computes it from the same log. A command of this device takes effect before the relay has accepted it;
/// until then it is behind all accepted ones.
struct Tasks {
    struct Item {
        /// The identity of the message with which the task was added.
        let id: String
        let title: String
        var isFinished = false
        /// Whether the relay has accepted all commands about the task.
        var isSynchronized: Bool
    }

    private(set) var items: [Item] = []

    init(in room: RoomName, of timeline: Timeline) async throws {
        var entries: [TimelineEntry] = []
        var page = try await timeline.page(of: room)
        while let first = page.first {
            entries = page + entries
            page = try await timeline.page(of: room, before: first.position)
        }
        for entry in entries { apply(entry) }
    }

    private mutating func apply(_ entry: TimelineEntry) {
        guard let id = entry.message, case .message(.command(let value)) = entry.content,
            let command: TaskCommand = try? value.decode()
        else { return }
        let isAccepted = entry.state == .accepted
        switch command {
        case .add(let title):
            items.append(Item(id: id.description, title: title, isSynchronized: isAccepted))
        case .finish(let task):
            // Two devices can finish the same task: the second command has no effect.
            guard let index = items.firstIndex(where: { $0.id == task }) else { return }
            items[index].isFinished = true
            items[index].isSynchronized = items[index].isSynchronized && isAccepted
        }
    }
}
// snippet:end
