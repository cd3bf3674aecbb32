import Martlet
import MartletLink
import MartletTransport
import MartletWire

@testable import MartletDatabase
@testable import MartletSQLite

/// An outbox in a file.
final class OutboxStorage: Storage {
    /// The states that the file may have. The first one has all acknowledged transactions. Each other one has a failed
    /// transaction besides, which SQLite may have written before its sync failed.
    typealias Ledger = [OutboxLedger]

    /// An outbox that is open: on this thread, or on a thread of its own.
    private enum Opened {
        case connection(OutboxConnection)
        case outbox(SQLiteOutbox)

        func load() async throws -> OutboxLedger.Observed {
            var letters: [DeadLetter] = []
            switch self {
            case .connection(let connection):
                let state = try connection.load()
                for room in OutboxLedger.rooms { letters += try connection.deadLetters(in: room) }
                return OutboxLedger.Observed(state: state, letters: letters)
            case .outbox(let outbox):
                let state = try await outbox.open()
                for room in OutboxLedger.rooms { letters += try await outbox.deadLetters(in: room) }
                return OutboxLedger.Observed(state: state, letters: letters)
            }
        }

        func commit(_ transaction: OutboxTransaction, at now: UInt64) async throws {
            switch self {
            case .connection(let connection): try connection.commit(transaction, now: now)
            case .outbox(let outbox): try await outbox.commit(transaction)
            }
        }
    }

    static let name = "outbox"
    var ledger: Ledger = [OutboxLedger()]
    /// The state before the last transaction, which a damaged log may have lost.
    private var previous: OutboxLedger?
    private let path: String
    private let clocks: SteppedClocks

    init(folder: String, clocks: SteppedClocks) {
        path = "\(folder)/outbox"
        self.clocks = clocks
    }

    private func opened(_ isThreaded: Bool) throws -> Opened {
        isThreaded
            ? .outbox(SQLiteOutbox(path: path, options: OutboxLedger.options))
            : .connection(try OutboxConnection(path: path, options: OutboxLedger.options))
    }

    // MARK: Use

    func use(_ random: inout SeededRandom, _ problems: Problems) async {
        let isThreaded = Bool.random(using: &random)
        do {
            let outbox = try opened(isThreaded)
            do {
                try take(try await outbox.load(), problems)
                for _ in 0..<Int.random(in: 1...8, using: &random) { await step(outbox, &random, problems) }
            } catch {
                problems.check(error, "the opening")
            }
            if case .outbox(let outbox) = outbox { await outbox.close() }
        } catch {
            problems.check(error, "the opening")
        }
    }

    /// Compares a state that was just opened with the ledger.
    private func take(_ observed: OutboxLedger.Observed, _ problems: Problems) throws {
        let now = EventLoop.wallClock
        guard let found = ledger.first(where: { $0.differences(from: observed, at: now).isEmpty }) else {
            return problems.add(ledger[0].differences(from: observed, at: now).joined(separator: "; "))
        }
        ledger = [found]
        ledger[0].device = observed.state.device
    }

    private func step(_ outbox: Opened, _ random: inout SeededRandom, _ problems: Problems) async {
        guard problems.texts.isEmpty, let device = ledger[0].device else { return }
        let transaction = transaction(device, &random)
        // An outbox with a thread of its own has the clock of the system.
        let now = if case .connection = outbox { clocks.wall } else { EventLoop.wallClock }
        var next = ledger[0]
        var refusal: MartletError?
        do { try next.apply(transaction, at: now) } catch { refusal = error as? MartletError }
        do {
            try await outbox.commit(transaction, at: now)
            if let refusal { problems.add("a transaction is stored and not refused with \(refusal)") }
            previous = ledger[0]
            // A transaction without a change writes nothing over a failed one.
            let isChange = !transaction.appended.isEmpty || !transaction.outcomes.isEmpty
            ledger = isChange ? [next] : [next] + ledger.dropFirst()
        } catch {
            problems.check(error, "a commit")
            // An error of the disk is not one of a statement.
            if case DatabaseError.other = error { problems.add("a commit has thrown \(error)") }
            if refusal == nil { ledger.append(next) }
            if refusal == nil, error is MartletError { problems.add("a transaction is refused with \(error)") }
            // A failed call has left nothing, as far as the disk shows.
            guard let observed = try? await outbox.load() else { return }
            let left = ledger[0].differences(from: observed, at: EventLoop.wallClock)
            if !left.isEmpty { problems.add("after \(error): \(left.joined(separator: "; "))") }
        }
    }

    // MARK: Transactions

    private func transaction(_ device: DeviceID, _ random: inout SeededRandom) -> OutboxTransaction {
        var transaction = OutboxTransaction()
        let entries = ledger[0].pending.values.sorted { $0.id.counter < $1.id.counter }
        let letters = ledger[0].letters.keys.sorted { $0.counter < $1.counter }
        if Int.random(in: 0..<4, using: &random) > 0 {
            // A gap in the counters exceeds the reserved ones at times.
            let gap: UInt64 = Int.random(in: 0..<8, using: &random) == 0 ? 1024 : 0
            let first = ledger[0].highest + gap + 1
            for counter in first...first + UInt64.random(in: 0...3, using: &random) {
                transaction.appended.append(entry(counter, device, &random))
            }
            switch Int.random(in: 0..<6, using: &random) {
            case 0: transaction.replaced[transaction.appended[0].id] = letters.randomElement(using: &random)
            case 1:
                transaction.replaced[transaction.appended[0].id] = MessageID(
                    sender: transaction.appended[0].id.sender, device: device, counter: first + 9)
            default: break
            }
        }
        for entry in entries {
            switch Int.random(in: 0..<10, using: &random) {
            case 0, 1:
                transaction.inFlight[entry.room, default: []].append(entry.id)
                transaction.inFlightAt = clocks.wall
            case 2, 3: transaction.outcomes.append(outcome(of: entry, .accepted(offset: entry.id.counter * 3)))
            case 4:
                let failures: [SendFailure] = [
                    .expired, .closed, .cancelled, .refused(ErrorCode(rawValue: 7), reason: "no"),
                ]
                let failure = failures.randomElement(using: &random) ?? .expired
                transaction.outcomes.append(outcome(of: entry, .failed(failure)))
            case 5: transaction.edits.append(OutboxEdit(id: entry.id, room: entry.room, content: content(&random)))
            default: break
            }
        }
        if Int.random(in: 0..<5, using: &random) == 0, let letter = letters.randomElement(using: &random),
            !transaction.replaced.values.contains(letter)
        {
            transaction.discarded = [letter]
        }
        if Bool.random(using: &random), let room = OutboxLedger.rooms.randomElement(using: &random) {
            transaction.cursors[room] = RoomCursor(
                log: OutboxLedger.log, offset: UInt64.random(in: 1...1000, using: &random))
        }
        if Int.random(in: 0..<20, using: &random) == 0 {
            transaction.device = DeviceID(rawValue: UInt64.random(in: 1 ... .max, using: &random))
        }
        return transaction
    }

    private func outcome(of entry: OutboxEntry, _ result: OutboxOutcome.Result) -> OutboxOutcome {
        OutboxOutcome(id: entry.id, room: entry.room, result: result)
    }

    private func content(_ random: inout SeededRandom) -> MessageContent {
        let count = [3, 30, 3000].randomElement(using: &random) ?? 3
        return MessageContent(text: String(repeating: "\(random.next())", count: count / 3))
    }

    private func entry(_ counter: UInt64, _ device: DeviceID, _ random: inout SeededRandom) -> OutboxEntry {
        let hasLifetime = Bool.random(using: &random)
        return OutboxEntry(
            id: MessageID(sender: "ada", device: device, counter: counter),
            room: OutboxLedger.rooms.randomElement(using: &random) ?? "a", content: content(&random),
            timeToLive: hasLifetime ? .seconds(counter) : nil, expiresAt: hasLifetime ? clocks.wall + counter : nil,
            isCompressible: Bool.random(using: &random), file: counter % 5 == 0 ? "/file/\(counter)" : nil)
    }

    // MARK: Check

    func check(after damage: FileDamage, _ problems: Problems) async -> Bool {
        let outbox = SQLiteOutbox(path: path, options: OutboxLedger.options)
        let opened = Opened.outbox(outbox)
        do {
            let observed = try await opened.load()
            if case .damaged(let bitCount) = damage {
                takeDamaged(observed, outbox.recovery, bitCount, problems)
            } else {
                try take(observed, problems)
                if let recovery = outbox.recovery { problems.add("a file without damage is \(recovery)") }
            }
            if problems.texts.isEmpty { try await useAgain(opened, observed.state, problems) }
        } catch {
            problems.check(error, "the check")
            if !damage.isDamaged { problems.add("\(error)") }
            await outbox.close()
            return false
        }
        await outbox.close()
        return true
    }

    /// The outbox works again: it settles the messages with even counters, and takes another message.
    private func useAgain(_ outbox: Opened, _ state: OutboxState, _ problems: Problems) async throws {
        var random = SeededRandom(seed: state.nextCounter)
        var (settling, adding) = (OutboxTransaction(), OutboxTransaction())
        settling.outcomes = state.pending.filter { $0.id.counter % 2 == 0 }.map { outcome(of: $0, .failed(.cancelled)) }
        adding.appended = [entry(ledger[0].highest + 1, state.device, &random)]
        for transaction in [settling, adding] {
            var next = ledger[0]
            do { try next.apply(transaction, at: EventLoop.wallClock) } catch { continue }
            try await outbox.commit(transaction, at: 0)
            ledger = [next]
        }
        let left = ledger[0].differences(from: try await outbox.load(), at: EventLoop.wallClock)
        if !left.isEmpty { problems.add("after a commit: \(left.joined(separator: "; "))") }
    }

    /// A flipped bit changes one row at the most, or its damage is found. SQLite has no checksum of a row.
    private func takeDamaged(
        _ observed: OutboxLedger.Observed, _ recovery: SQLiteOutbox.Recovery?, _ bitCount: Int, _ problems: Problems
    ) {
        let counters = observed.state.pending.map(\.id.counter)
        if Set(counters).count < counters.count { problems.add("a message is there twice") }
        let differences = (ledger + (previous.map { [$0] } ?? [])).map {
            $0.differences(from: observed, at: EventLoop.wallClock)
        }
        // The old and the new value of a key are two differences. All rows refer to the device.
        if recovery == nil, bitCount == 1, let least = differences.min(by: { $0.count < $1.count }), least.count > 2,
            ledger[0].device == observed.state.device
        {
            problems.add("damage without a report: \(least.joined(separator: "; "))")
        }
        ledger = [OutboxLedger(damaged: observed)]
    }
}
