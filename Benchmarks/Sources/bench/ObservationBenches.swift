import BenchHarness
import CBaselines
import Foundation
import Martlet
import MartletObservation
import MartletTimeline
import Observation

/// 10,000 incoming messages in batches of 10, at most 2 ms apart, with a model of their conversation, or of the list of
/// 100 rooms to which they belong.
///
/// The time of the main actor is the processor time of its thread, of which that of the counting of changes is a part.
enum ObservationBenches {
    private static let batchCount = 1000
    private static let batchSize = 10
    private static let account = AccountName("bench")

    static func cases() -> [Case] {
        [
            Case(
                "observation/10,000 messages", per: "change of the model",
                [
                    Subject("conversation") { try measure(roomCount: 1) { script in await Self.conversation(script) } },
                    Subject("list of 100 rooms") { try measure(roomCount: 100) { script in await Self.list(script) } },
                ])
        ]
    }

    private struct Script: Sendable {
        let sync: TimelineSync
        let roomCount: Int
    }

    /// A running model, and how its changes are read.
    private struct Observed: Sendable {
        let running: Task<Void, Never>
        let read: @MainActor @Sendable () -> Bool
    }

    @MainActor
    private static func conversation(_ script: Script) async -> Observed {
        let model = ConversationModel(of: "room 0", in: script.sync)
        let last = UInt64(batchCount * batchSize)
        return Observed(running: Task { await model.run() }) { model.rows.last?.value.offset == last }
    }

    @MainActor
    private static func list(_ script: Script) async -> Observed {
        let model = ConversationListModel(script.sync.timeline)
        return Observed(running: Task { await model.run() }) { model.unreadCount == batchCount * batchSize }
    }

    private static func measure(
        roomCount: Int, _ observe: @escaping @Sendable (Script) async -> Observed
    ) throws -> Sample {
        try wait {
            let folder = FileManager.default.temporaryDirectory.appending(path: "martlet-bench-\(UUID().uuidString)")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(at: folder) }
            let timeline = try await Timeline(path: folder.appending(path: "timeline").path, account: account)
            let client = try Client(to: "martlet://127.0.0.1:1", as: .anonymous(account.text))
            try await client.start()
            let observed = await observe(Script(sync: TimelineSync(client, timeline), roomCount: roomCount))
            let changes = await ChangeCounter(observed.read)
            let probe = Task { await MainActorProbe.longestMilliseconds() }
            let before = await MainActorProbe.processorTime()
            let start = measure_now()
            for batch in 0..<batchCount {
                let first = UInt64(batch / roomCount * batchSize) + 1
                let items = (0..<UInt64(batchSize)).map { message(first + $0) }
                try await timeline.apply(items, in: RoomName("room \(batch % roomCount)")!)
                try await Task.sleep(for: .milliseconds(1))
            }
            await changes.finished()
            let seconds = Double(measure_now() - start) / 1e9
            let after = await MainActorProbe.processorTime()
            probe.cancel()
            let longest = await probe.value
            observed.running.cancel()
            await observed.running.value
            await client.stop()
            await timeline.close()
            guard let before, let after, before.thread == after.thread else {
                throw Options.Failure(description: "the main actor has changed its thread")
            }
            let count = Double(await changes.count)
            return [
                "microseconds": Double(after.nanoseconds - before.nanoseconds) / 1000 / count, "longest": longest,
                "changesPerSecond": count / seconds, "messagesPerSecond": 10_000 / seconds,
            ]
        }
    }

    private static func message(_ number: UInt64) -> RoomItem {
        .message(
            RoomMessage(
                id: MessageID(sender: AccountName("ada"), device: DeviceID(rawValue: 1), counter: number),
                at: RoomCursor(log: LogID(rawValue: 1), offset: number),
                content: MessageContent(text: "message \(number), which has about sixty-four bytes of text in all"),
                acceptedAt: 1_700_000_000_000 + number))
    }
}

/// Counts the changes of a model until it has its last state.
@MainActor
private final class ChangeCounter {
    private(set) var count = 0
    private let read: @MainActor @Sendable () -> Bool
    private var finish: CheckedContinuation<Void, Never>?
    private var isFinished = false

    init(_ read: @escaping @MainActor @Sendable () -> Bool) {
        self.read = read
        track()
    }

    private func track() {
        isFinished = withObservationTracking(read) { [weak self] in
            Task { @MainActor in
                self?.count += 1
                self?.track()
            }
        }
        if isFinished { finish.take()?.resume() }
    }

    func finished() async {
        if !isFinished { await withCheckedContinuation { finish = $0 } }
    }
}

/// Measures the main actor.
private enum MainActorProbe {
    /// The processor time of the thread of the main actor, and the thread.
    @MainActor
    static func processorTime() -> (nanoseconds: UInt64, thread: UInt)? {
        var time = timespec()
        guard unsafe clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time) == 0 else { return nil }
        return (UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec), UInt(pthread_self()))
    }

    /// The longest time for which a job has waited for the main actor, of those that are queued every 5 ms, in
    /// milliseconds.
    static func longestMilliseconds() async -> Double {
        var longest: UInt64 = 0
        while !Task.isCancelled {
            let start = measure_now()
            await MainActor.run {}
            longest = max(longest, measure_now() - start)
            try? await Task.sleep(for: .milliseconds(5))
        }
        return Double(longest) / 1e6
    }
}
