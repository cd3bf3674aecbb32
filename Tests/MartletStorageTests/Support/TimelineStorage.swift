import Foundation
import Martlet
import MartletDatabase
import MartletLink
import MartletWire

@testable import MartletTimeline

/// Rows of a timeline may differ from its ledger, because SQLite has no checksum of a row.
private struct DamagedTimeline: Error {}

/// A timeline, beside a second one that performs each acknowledged operation on a disk without faults.
///
/// A timeline does not sync each transaction: a loss of power may remove the latest ones, and they are performed again.
/// A timeline that was set aside is rebuilt from the log.
final class TimelineStorage: Storage {
    /// An operation of an application.
    enum Operation {
        case apply(Range<Int>)
        case add(MessageID, MessageContent)
        case settle(MessageID, OutboxOutcome.Result)
        case remove(MessageID)
        case markRead(RoomCursor)
        case clear
    }

    /// All operations, and what they have led to.
    struct Ledger {
        var logs = [TimelineLog(room: "a"), TimelineLog(room: "b")]
        var operations: [(room: Int, Operation)] = []
        /// The contents after each number of operations, from 0 on.
        var contents = [["a at 0, 0 unread", "b at 0, 0 unread"]]
        /// The number of operations that are certainly stored.
        var storedCount = 0
        /// The operation that has failed last, which may be stored.
        var doubt: (room: Int, Operation)?
    }

    static let name = "timeline"
    var ledger = Ledger()
    private let path: String
    private let twinFolder: String
    private var twin: Timeline?
    /// The number of operations of the twin.
    private var twinCount = 0

    init(folder: String, clocks: SteppedClocks) {
        path = "\(folder)/timeline"
        twinFolder = SimulatedDisk.temporaryPath()
        try? FileManager.default.createDirectory(atPath: twinFolder, withIntermediateDirectories: true)
    }

    deinit {
        try? FileManager.default.removeItem(atPath: twinFolder)
    }

    private func opened() async throws -> Timeline { try await Timeline(path: path, account: TimelineLog.account) }

    // MARK: Contents

    /// Everything that an application sees.
    private func contents(of timeline: Timeline, isRead: Bool = true) async throws -> [String] {
        var found: [String] = []
        for log in ledger.logs {
            let room = log.room
            for entry in try await timeline.page(of: room, limit: 1000) { found.append("\(room) \(Self.text(entry))") }
            guard isRead else { continue }
            let cursor = try await timeline.cursor(of: room)
            found.append("\(room) at \(cursor?.offset ?? 0), \(try await timeline.unreadCount(of: room)) unread")
            for message in try await timeline.unsettled(in: room) {
                found.append("\(room) unsettled \(message.id.counter) \(message.hasFailed)")
            }
        }
        let matches = try await timeline.search("word", limit: 1000).map { match in
            "found \(match.room) \(match.entry.message?.counter ?? 0) \(match.entry.text ?? "")"
        }
        return found + matches.sorted()
    }

    private static func text(_ entry: TimelineEntry) -> String {
        let reactions = entry.reactions.map { "\($0.text)\($0.count)\($0.includesOwn)" }
        return "\(entry.offset ?? 0) \(entry.message?.counter ?? 0) \(entry.content) \(entry.state) \(entry.isEdited)"
            + " \(reactions)"
    }

    private func perform(_ operation: (room: Int, Operation), _ timeline: Timeline) async throws {
        let log = ledger.logs[operation.room]
        switch operation.1 {
        case .apply(let range): try await timeline.apply(Array(log.items[range]), in: log.room)
        case .add(let id, let content): try await timeline.add(id, content, in: log.room)
        case .settle(let id, let result): try await timeline.settle(id, in: log.room, as: result)
        case .remove(let id): try await timeline.remove(id, in: log.room)
        case .markRead(let cursor): try await timeline.markRead(upTo: cursor, in: log.room)
        case .clear: try await timeline.clear(log.room)
        }
    }

    /// Records an operation that the storage has performed.
    private func record(_ operation: (room: Int, Operation)) async throws {
        ledger.operations.append(operation)
        ledger.doubt = nil
        ledger.contents.append(try await contents(of: followedTwin()))
    }

    /// The twin after all operations. It begins again when the ledger is that of an earlier time.
    private func followedTwin() async throws -> Timeline {
        if twinCount > ledger.operations.count {
            await twin?.close()
            twin = nil
        }
        if twin == nil {
            twinCount = 0
            let path = "\(twinFolder)/\(UUID().uuidString)"
            twin = try await Timeline(path: path, account: TimelineLog.account)
        }
        guard let twin else { throw CocoaError(.fileNoSuchFile) }
        while twinCount < ledger.operations.count {
            try await perform(ledger.operations[twinCount], twin)
            twinCount += 1
        }
        return twin
    }

    // MARK: Use

    func use(_ random: inout SeededRandom, _ problems: Problems) async {
        do {
            let timeline = try await opened()
            do {
                try await take(timeline, .none, problems)
                for _ in 0..<Int.random(in: 1...10, using: &random) where problems.texts.isEmpty {
                    try await step(timeline, &random, problems)
                }
            } catch {
                problems.check(error, "the use")
            }
            await timeline.close()
        } catch {
            problems.check(error, "the opening")
        }
    }

    private func step(_ timeline: Timeline, _ random: inout SeededRandom, _ problems: Problems) async throws {
        let operation = ledger.doubt ?? operation(&random)
        do {
            try await perform(operation, timeline)
        } catch {
            problems.check(error, "an operation")
            ledger.doubt = operation
            // A failed operation has left nothing, as far as the disk shows.
            guard let found = try? await contents(of: timeline) else { return }
            if found != ledger.contents.last { problems.add("after \(error): \(difference(found))") }
            return
        }
        try await record(operation)
        guard let found = try? await contents(of: timeline) else { return }
        if found != ledger.contents.last { problems.add("after \(operation): \(difference(found))") }
    }

    private func distance(_ found: [String], _ expected: [String]) -> Int {
        Set(found).symmetricDifference(expected).count
    }

    private func difference(_ found: [String], _ expected: [String]? = nil) -> String {
        let expected = expected ?? ledger.contents.last ?? []
        let (missing, added) = (expected.filter { !found.contains($0) }, found.filter { !expected.contains($0) })
        return "\(missing) missing, \(added) added"
    }

    private func operation(_ random: inout SeededRandom) -> (room: Int, Operation) {
        let room = ledger.logs.indices.randomElement(using: &random) ?? 0
        switch Int.random(in: 0..<12, using: &random) {
        case 0, 1:
            let message = ledger.logs[room].queue(&random)
            return (room, .add(message.id, message.content))
        case 2:
            if let message = ledger.logs[room].edit(&random) { return (room, .add(message.id, message.content)) }
        case 3, 4:
            if let outcome = ledger.logs[room].settle(&random) { return (room, .settle(outcome.id, outcome.result)) }
        case 5:
            return (room, .markRead(ledger.logs[room].cursor))
        case 6:
            if Int.random(in: 0..<4, using: &random) == 0 { return (room, .clear) }
        case 7:
            // Items that were applied before.
            let count = ledger.logs[room].items.count
            if count > 0 { return (room, .apply(Int.random(in: 0..<count, using: &random)..<count)) }
        default: ledger.logs[room].publish(&random)
        }
        return (room, .apply(0..<ledger.logs[room].items.count))
    }

    // MARK: Opening

    /// Compares a timeline that was just opened with the ledger. Operations that a loss of power has removed are
    /// performed again.
    private func take(_ timeline: Timeline, _ damage: FileDamage, _ problems: Problems) async throws {
        let found = try await contents(of: timeline)
        // The failed operation may be stored.
        if found != ledger.contents.last, let doubt = ledger.doubt {
            let before = ledger
            try await record(doubt)
            if found != ledger.contents.last {
                ledger = before
                // The twin has performed it.
                await twin?.close()
                twin = nil
            }
        }
        if timeline.setAsidePath != nil { return try await rebuild(timeline) }
        guard !damage.isDamaged else { throw DamagedTimeline() }
        guard found != ledger.contents.last else {
            ledger.storedCount = ledger.operations.count
            return
        }
        let first = if case .lossOfPower = damage { ledger.storedCount } else { ledger.operations.count }
        guard let count = (first..<ledger.contents.count).last(where: { ledger.contents[$0] == found }) else {
            let nearest = ledger.contents.indices.min { left, right in
                distance(found, ledger.contents[left]) < distance(found, ledger.contents[right])
            }
            return problems.add(
                "after \(nearest ?? 0) of \(ledger.operations.count) operations, \(first) of them stored: "
                    + difference(found, ledger.contents[nearest ?? 0]))
        }
        for operation in ledger.operations[count...] { try await perform(operation, timeline) }
        let again = try await contents(of: timeline)
        if again != ledger.contents.last { problems.add("performed again: \(difference(again))") }
    }

    /// The log is read again, whatever the timeline has.
    private func rebuild(_ timeline: Timeline) async throws {
        var next = Ledger()
        next.logs = ledger.logs
        for room in next.logs.indices {
            next.logs[room].forgetPending()
            try await timeline.remove(room: next.logs[room].room)
        }
        ledger = next
        await twin?.close()
        twin = nil
    }

    // MARK: Check

    func check(after damage: FileDamage, _ problems: Problems) async -> Bool {
        // The opening after an operation that has found damage sets the file aside. Damage that is not found changes
        // some rows, and the timeline is used until the end of the life.
        for isFirst in [true, false] {
            do {
                try await check(timeline: opened(), damage, problems)
                return true
            } catch is DamagedTimeline {
                return false
            } catch DatabaseError.corrupt where isFirst && damage.isDamaged {
                continue
            } catch {
                problems.check(error, "the check")
                var isExpected = damage.isDamaged
                if case DatabaseError.corrupt = error { isExpected = false }
                if !isExpected { problems.add("\(error)") }
                return false
            }
        }
        return false
    }

    private func check(timeline: Timeline, _ damage: FileDamage, _ problems: Problems) async throws {
        if timeline.setAsidePath != nil, !damage.isDamaged { problems.add("a file without damage is set aside") }
        do {
            try await take(timeline, damage, problems)
            if problems.texts.isEmpty { try await converge(timeline, problems) }
        } catch is DamagedTimeline {
            // Reads and writes throw typed errors, or none.
            var random = SeededRandom(seed: 1)
            for _ in 0..<10 {
                let operation = operation(&random)
                do { try await perform(operation, timeline) } catch { problems.check(error, "an operation") }
                do { _ = try await contents(of: timeline) } catch { problems.check(error, "a read") }
            }
            await timeline.close()
            throw DamagedTimeline()
        } catch {
            await timeline.close()
            throw error
        }
        await timeline.close()
    }

    /// Settles all messages and applies all items: a timeline that reads the log at once has the same contents.
    private func converge(_ timeline: Timeline, _ problems: Problems) async throws {
        var random = SeededRandom(seed: UInt64(ledger.operations.count))
        for room in ledger.logs.indices {
            while let outcome = ledger.logs[room].settle(&random, isAccepted: true) {
                try await acknowledged((room, .settle(outcome.id, outcome.result)), timeline)
            }
            try await acknowledged((room, .apply(0..<ledger.logs[room].items.count)), timeline)
            for message in try await timeline.unsettled(in: ledger.logs[room].room) {
                try await acknowledged((room, .remove(message.id)), timeline)
            }
        }
        let found = try await contents(of: timeline, isRead: false)
        let fresh = try await Timeline(path: "\(twinFolder)/\(UUID().uuidString)", account: TimelineLog.account)
        for log in ledger.logs { try await fresh.apply(log.items, in: log.room) }
        let expected = try await contents(of: fresh, isRead: false)
        await fresh.close()
        if found != expected {
            problems.add("another state than that of the log: \(difference(found, expected))")
        }
        ledger.storedCount = ledger.operations.count
    }

    private func acknowledged(_ operation: (room: Int, Operation), _ timeline: Timeline) async throws {
        try await perform(operation, timeline)
        try await record(operation)
    }
}
