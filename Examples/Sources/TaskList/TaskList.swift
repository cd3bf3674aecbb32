import Martlet
import MartletSQLite
import MartletTimeline

/// A list of tasks that is used offline, and synchronized between the devices of an account.
///
/// The folder of a device has its outbox, with the commands that the relay has not accepted, and its timeline, a copy
/// of the room's log. All actions but `sync` use these files only.
@main
struct TaskList {
    static let usage = """
        usage: tasks FOLDER ACTION [RELAY]
        ACTION is: add TITLE, done NUMBER, list, sync RELAY
        """
    static let account = "ada"

    static func main() async throws {
        let words = Array(CommandLine.arguments.dropFirst())
        guard words.count >= 2 else { return print(usage) }
        let (folder, action, operand) = (words[0], words[1], words.dropFirst(2).joined(separator: " "))
        var configuration = Client.Configuration()
        configuration.flushTimeout = .zero  // the outbox keeps what is not sent
        let client = try Client(
            to: action == "sync" ? operand : "martlet://127.0.0.1", as: .anonymous(account),
            outbox: .sqlite(at: folder + "/outbox"), configuration: configuration)
        let timeline = try await Timeline(path: folder + "/timeline", account: client.account)
        var options = TimelineSync.Options()
        options.initialMessageCount = nil  // the tasks result from the whole log
        let sync = TimelineSync(client, timeline, options: options)
        try await withClient(client) { _ in
            let room = try await sync.open(room: "tasks")  // does not wait for a connection
            switch action {
            case "add": try await room.send(OutgoingMessage(TaskCommand.add(title: operand)))
            case "done": try await finish(operand, in: room, of: timeline)
            case "list": try await list(room, of: timeline)
            case "sync": try await synchronize(room, sync)
            default: print(usage)
            }
        }
        await timeline.close()
    }

    static func finish(_ number: String, in room: SyncedRoom, of timeline: Timeline) async throws {
        let items = try await Tasks(in: room.name, of: timeline).items
        guard let number = Int(number), items.indices.contains(number - 1) else { return print("no such task") }
        try await room.send(OutgoingMessage(TaskCommand.finish(task: items[number - 1].id)))
    }

    static func list(_ room: SyncedRoom, of timeline: Timeline) async throws {
        for (index, item) in try await Tasks(in: room.name, of: timeline).items.enumerated() {
            let mark = item.isFinished ? "[x]" : "[ ]"
            print(index + 1, mark, item.title + (item.isSynchronized ? "" : " (not synchronized)"))
        }
    }

    /// Waits until the relay has accepted the commands of the outbox and the timeline has the log up to its end.
    static func synchronize(_ room: SyncedRoom, _ sync: TimelineSync) async throws {
        let running = Task { try await sync.run() }
        defer { running.cancel() }
        var changes = sync.timeline.changes.makeAsyncIterator()
        let end = try await room.room.retention().lastOffset
        while try await sync.timeline.cursor(of: room.name)?.offset ?? 0 < end || !room.unsent.isEmpty {
            _ = await changes.next()
        }
    }
}
