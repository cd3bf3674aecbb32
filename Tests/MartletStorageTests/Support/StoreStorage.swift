import MartletLink
import MartletRelay
import MartletTransport
import MartletWire

@testable import MartletDatabase
@testable import MartletRelaySQLite

/// The store of a relay.
final class StoreStorage: Storage {
    /// The states that the file may have, as those of `OutboxStorage`.
    typealias Ledger = [StoreLedger]

    /// A store that is open: on this thread, or with threads of its own.
    private enum Opened {
        case file(StoreFile)
        case store(SQLiteStore)

        func load(_ room: RoomName) async throws -> RoomSnapshot {
            switch self {
            case .file(let file): try file.load(room)
            case .store(let store): try await store.load(room)
            }
        }

        func read(_ room: RoomName) async throws -> [LogEntry] {
            let range = ReadRange(from: 1, maxCount: .max, maxByteCount: .max)
            return switch self {
            case .file(let file): try file.read(range, of: room).entries
            case .store(let store): try await store.read(range, of: room).entries
            }
        }

        func observe(_ rooms: [RoomName] = StoreLedger.names) async throws -> [RoomName: StoreLedger.Observed] {
            var found: [RoomName: StoreLedger.Observed] = [:]
            for room in rooms {
                found[room] = StoreLedger.Observed(snapshot: try await load(room), entries: try await read(room))
            }
            return found
        }
    }

    /// A call of a relay. Each is a transaction.
    private enum Call {
        case append([LogEntry], [MessageErasure], RoomName)
        case progress([AccountName: AccountProgress], RoomName)
        case roles([UInt8], RoomName)
        case memberships([AccountName: MembershipRecord?], RoomName)
        case trim(UInt64, RoomName)
        case remove(RoomName)
        case removeOld
    }

    static let name = "store"
    var ledger: Ledger = [StoreLedger()]
    private let folder: String
    private let clocks: SteppedClocks
    /// The relay's clock at the current call.
    private var now: UInt64

    init(folder: String, clocks: SteppedClocks) {
        self.folder = folder
        self.clocks = clocks
        now = clocks.wall
    }

    private func opened(_ isThreaded: Bool, _ report: @escaping @Sendable (StoreEvent) -> Void = { _ in }) async throws
        -> Opened
    {
        let clocks = clocks
        guard isThreaded else {
            return .file(
                try StoreFile(path: "\(folder)/\(StoreSchema.fileName)", retention: StoreLedger.retention) {
                    clocks.correctTime
                })
        }
        return .store(
            try await SQLiteStore(at: folder, StoreLedger.retention, wallClock: { clocks.wall }, report))
    }

    // MARK: Use

    func use(_ random: inout SeededRandom, _ problems: Problems) async {
        do {
            let store = try await opened(Bool.random(using: &random))
            do {
                try take(await store.observe(), problems)
                for _ in 0..<Int.random(in: 1...8, using: &random) where problems.texts.isEmpty {
                    switch Int.random(in: 0..<8, using: &random) {
                    case 0: clocks.step(&random)
                    case 1: clocks.correct()
                    default: break
                    }
                    clocks.advance(UInt64.random(in: 0...600_000, using: &random))
                    // Only a store with threads has a clock by which it removes messages.
                    now = if case .store = store { clocks.wall } else { clocks.correctTime }
                    await step(store, &random, problems)
                }
            } catch {
                problems.check(error, "the opening")
            }
            if case .store(let store) = store { await store.close() }
        } catch {
            problems.check(error, "the opening")
        }
    }

    private func take(_ observed: [RoomName: StoreLedger.Observed], _ problems: Problems) throws {
        guard var found = ledger.first(where: { $0.differences(from: observed).isEmpty }) else {
            return problems.add(ledger[0].differences(from: observed).joined(separator: "; "))
        }
        for (room, observed) in observed {
            found.rooms[room, default: StoreLedger.Contents()].log = observed.snapshot.log
        }
        ledger = [found]
    }

    private func step(_ store: Opened, _ random: inout SeededRandom, _ problems: Problems) async {
        let call = call(store, &random)
        var next = ledger[0]
        let isRefused = !apply(call, to: &next)
        do {
            try await perform(call, store)
            if isRefused { problems.add("a call is not refused: \(call)") }
            // A pass without a change writes nothing over a failed call.
            if case .removeOld = call {} else { ledger = [next] }
        } catch {
            problems.check(error, "a call")
            if !isRefused {
                ledger.append(next)
                if !(error is DatabaseError) { problems.add("a call is refused with \(error): \(call)") }
            }
        }
        // A removed room begins another log when it is loaded.
        guard let observed = try? await store.observe() else { return }
        let left = ledger[0].differences(from: observed)
        if !left.isEmpty { problems.add("after \(call): \(left.joined(separator: "; "))") }
        if ledger.count == 1, left.isEmpty { try? take(observed, problems) }
    }

    // MARK: Calls

    private func call(_ store: Opened, _ random: inout SeededRandom) -> Call {
        let name = StoreLedger.names.randomElement(using: &random) ?? "lobby"
        let room = ledger[0].rooms[name] ?? StoreLedger.Contents()
        let account: AccountName = ["alice", "bob", "carol"].randomElement(using: &random) ?? "alice"
        var number = Int.random(in: 0..<16, using: &random)
        if case .store = store, number == 11 || number == 12 { number = 0 }
        switch number {
        case 7, 8:
            guard room.lastOffset > 0 else { return .removeOld }
            let (delivered, read) = (
                UInt64.random(in: 0...room.lastOffset, using: &random),
                UInt64.random(in: 0...room.lastOffset, using: &random)
            )
            return .progress([account: AccountProgress(delivered: delivered, read: read)], name)
        case 9: return .roles([1, UInt8.random(in: 0...255, using: &random)], name)
        case 10:
            let record = MembershipRecord(isJoined: Bool.random(using: &random), inviter: nil, changedAt: 7)
            return .memberships([account: Bool.random(using: &random) ? record : nil], name)
        case 11: return .trim(UInt64.random(in: 1...room.lastOffset + 2, using: &random), name)
        case 12: return Bool.random(using: &random) ? .remove(name) : .removeOld
        case 13, 14: return .removeOld
        default: return append(to: name, room, &random)
        }
    }

    private func append(to name: RoomName, _ room: StoreLedger.Contents, _ random: inout SeededRandom) -> Call {
        // Offsets that do not continue the log are refused.
        let skipped: UInt64 = Int.random(in: 0..<10, using: &random) == 0 ? 1 : 0
        let first = room.lastOffset + 1 + skipped
        let entries = (first...first + UInt64.random(in: 0...3, using: &random)).map { entry($0, &random) }
        var erasures: [MessageErasure] = []
        if Int.random(in: 0..<4, using: &random) == 0, let entry = room.entries.randomElement(using: &random) {
            let id = MessageID(sender: entry.sender, device: entry.device, counter: entry.counter)
            erasures.append(MessageErasure(offset: entry.offset, id: id))
        }
        return .append(entries, erasures, name)
    }

    private func entry(_ offset: UInt64, _ random: inout SeededRandom) -> LogEntry {
        let (account, device) = (StoreLedger.device.account, StoreLedger.device.device)
        let count = [5, 100, 1500].randomElement(using: &random) ?? 5
        let text = String(repeating: "\(random.next() % 10)", count: count)
        let stamp = RelayStamp(offset: offset, acceptedAt: now, sender: account, device: device)
        let message = Message(counter: offset, content: MessageContent(text: text), relay: stamp)
        return LogEntry(
            offset: offset, sender: account, device: device, counter: offset, acceptedAt: now,
            body: EncodedBody(message.encode()))
    }

    /// Performs a call on a ledger. Returns false if the store refuses it.
    private func apply(_ call: Call, to next: inout StoreLedger) -> Bool {
        switch call {
        case .append(let entries, let erasures, let name):
            var room = next.rooms[name] ?? StoreLedger.Contents()
            guard entries[0].offset == room.lastOffset + 1 else { return false }
            room.append(entries, erasing: erasures)
            next.rooms[name] = room
        case .progress(let progress, let name):
            for (account, marks) in progress {
                var own = next.rooms[name]?.progress[account] ?? AccountProgress()
                (own.delivered, own.read) = (max(own.delivered, marks.delivered), max(own.read, marks.read))
                next.rooms[name]?.progress[account] = own
            }
        case .roles(let roles, let name): next.roles[name] = roles
        case .memberships(let changes, let name):
            for (account, record) in changes { next.memberships[name, default: [:]][account] = record }
        case .trim(let offset, let name): next.rooms[name]?.trim(before: offset)
        case .remove(let name): next.rooms[name] = nil
        case .removeOld: break
        }
        return true
    }

    private func perform(_ call: Call, _ store: Opened) async throws {
        switch (call, store) {
        case (.append(let entries, let erasures, let room), .file(let file)):
            _ = try file.append(entries, erasing: erasures, to: room)
        case (.append(let entries, let erasures, let room), .store(let store)):
            _ = try await store.append(entries, erasing: erasures, to: room)
        case (.progress(let progress, let room), .file(let file)): try file.saveProgress(progress, of: room)
        case (.progress(let progress, let room), .store(let store)): try await store.saveProgress(progress, of: room)
        case (.roles(let roles, let room), .file(let file)): try file.saveRoles(roles, of: room, creation: nil)
        case (.roles(let roles, let room), .store(let store)):
            try await store.saveRoles(roles, of: room, creation: nil)
        case (.memberships(let changes, let room), .file(let file)):
            _ = try file.saveMemberships(changes, of: room)
        case (.memberships(let changes, let room), .store(let store)):
            _ = try await store.saveMemberships(changes, of: room)
        case (.trim(let offset, let room), .file(let file)): _ = try file.trim(room, before: offset)
        case (.remove(let room), .file(let file)): try file.remove(room)
        case (.removeOld, .store(let store)): await store.removeOld(steady: clocks.steady)
        case (.trim, .store), (.remove, .store), (.removeOld, .file): break
        }
    }

    // MARK: Check

    /// The events of an opening.
    private final class Events: Sendable {
        private let all = Guarded<[StoreEvent]>([])

        func add(_ event: StoreEvent) { all.withLock { $0.append(event) } }

        /// The report of damage.
        var damage: StoreEvent? {
            all.withLock { events in
                events.first { event in
                    switch event {
                    case .setAside, .copyOpened: true
                    case .rolesUnknown, .clockJumped, .retentionFailed: false
                    }
                }
            }
        }
    }

    func check(after damage: FileDamage, _ problems: Problems) async -> Bool {
        let events = Events()
        do {
            let store = try await opened(true) { events.add($0) }
            guard case .store(let opened) = store else { return false }
            var isUsable = true
            do {
                if case .damaged(let bitCount) = damage {
                    // Files of an earlier time are not distinguished: a backup is restored by a command.
                    isUsable = try await takeDamaged(
                        store, isReported: events.damage != nil || bitCount == 0, problems)
                } else {
                    try take(await store.observe(), problems)
                    if let event = events.damage { problems.add("a file without damage: \(event)") }
                }
                if isUsable, problems.texts.isEmpty { try await useAgain(store, problems) }
            } catch {
                problems.check(error, "the check")
                if !damage.isDamaged { problems.add("\(error)") }
                isUsable = false
            }
            await opened.close()
            return isUsable
        } catch {
            problems.check(error, "the check")
            if !damage.isDamaged { problems.add("\(error)") }
            return false
        }
    }

    /// The store works again.
    private func useAgain(_ store: Opened, _ problems: Problems) async throws {
        var random = SeededRandom(seed: ledger[0].rooms["lobby"]?.lastOffset ?? 0)
        let room = ledger[0].rooms["lobby"] ?? StoreLedger.Contents()
        let call = Call.append([entry(room.lastOffset + 1, &random)], [], "lobby")
        _ = apply(call, to: &ledger[0])
        try await perform(call, store)
        let left = ledger[0].differences(from: try await store.observe())
        if !left.isEmpty { problems.add("after an append: \(left.joined(separator: "; "))") }
    }

    /// A room with damage is refused or has another log, or it has the messages that were accepted. Each batch of
    /// messages has a checksum. Other values of a row can differ.
    ///
    /// - Returns: Whether all rooms can be used.
    private func takeDamaged(_ store: Opened, isReported: Bool, _ problems: Problems) async throws -> Bool {
        var next = StoreLedger()
        var isUsable = true
        for name in StoreLedger.names {
            do {
                guard let found = try await store.observe([name])[name] else { continue }
                let room = ledger[0].rooms[name] ?? StoreLedger.Contents()
                let accepted = Dictionary(uniqueKeysWithValues: room.entries.map { ($0.offset, $0) })
                let isKnown = room.log == found.snapshot.log && ledger.count == 1 && !isReported
                for entry in found.entries where isKnown {
                    // An append that failed may have left a message.
                    guard let own = accepted[entry.offset] else { continue }
                    if !own.isSame(as: entry) { problems.add("\(name): message \(entry.offset) is different") }
                }
                if isKnown, found.snapshot.lastOffset < room.lastOffset {
                    problems.add("\(name): offsets from \(found.snapshot.lastOffset + 1) on will be used again")
                }
                next.rooms[name] = StoreLedger.Contents(damaged: found.snapshot, found.entries)
                next.roles[name] = found.snapshot.roles
                next.memberships[name] = found.snapshot.memberships
            } catch {
                problems.check(error, "a damaged room")
                isUsable = false
            }
        }
        ledger = [next]
        return isUsable
    }
}
