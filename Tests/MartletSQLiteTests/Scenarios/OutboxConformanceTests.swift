import Martlet
import MartletSQLite
import Testing

/// What each outbox does. The next client uses the same object in memory, or another object with the same file.
@Suite("Each outbox")
struct OutboxConformanceTests {
    enum Kind: CaseIterable {
        case memory, sqlite
    }

    /// An outbox that is used by one client after another.
    private final class Subject {
        private let kind: Kind
        private let folder: TemporaryFolder
        private(set) var outbox: any Outbox

        init(_ kind: Kind) throws {
            self.kind = kind
            folder = try TemporaryFolder()
            outbox = kind == .memory ? InMemoryOutbox() : SQLiteOutbox(path: folder.file("outbox"))
        }

        func reopen() async throws -> OutboxState {
            if let file = outbox as? SQLiteOutbox {
                await file.close()
                outbox = SQLiteOutbox(path: file.path)
            }
            return try await outbox.open()
        }
    }

    private func opened(_ kind: Kind) async throws -> (Subject, Entries) {
        let subject = try Subject(kind)
        return (subject, Entries(device: try await subject.outbox.open().device))
    }

    // W-34, C-79
    @Test(arguments: Kind.allCases)
    func `a new client → the same device, and a counter above all earlier ones`(kind: Kind) async throws {
        let (subject, entries) = try await opened(kind)
        try await subject.outbox.commit(entries.transaction { $0.appended = [entries.entry(5)] })
        try await subject.outbox.commit(
            entries.transaction { $0.outcomes = [entries.outcome(5, .accepted(offset: 1))] })
        let state = try await subject.reopen()
        #expect(state.device == entries.device)
        #expect(state.nextCounter > 5)
        #expect(state.pending == [])
    }

    @Test(arguments: Kind.allCases)
    func `appended messages → the same messages, in order within each room`(kind: Kind) async throws {
        let (subject, entries) = try await opened(kind)
        let appended = [
            entries.entry(1, "ß 🐦", timeToLive: .milliseconds(1500), expiresAt: 7), entries.entry(2, in: "b"),
            entries.entry(3, inFlightSince: 7), entries.entry(4),
        ]
        try await subject.outbox.commit(entries.transaction { $0.appended = appended })
        try await subject.outbox.commit(
            entries.transaction { $0.outcomes = [entries.outcome(4, .accepted(offset: 9))] })
        let state = try await subject.reopen()
        #expect(state.pending == Array(appended[...2]))
    }

    @Test(arguments: Kind.allCases)
    func `an edit and a mark → the new content, in flight; an unknown message is ignored`(kind: Kind) async throws {
        let (subject, entries) = try await opened(kind)
        try await subject.outbox.commit(entries.transaction { $0.appended = [entries.entry(1), entries.entry(2)] })
        try await subject.outbox.commit(
            entries.transaction {
                $0.edits = [1, 3].map {
                    OutboxEdit(id: entries.id($0), room: "a", content: MessageContent(text: "new"))
                }
                $0.inFlight = ["a": [entries.id(1), entries.id(3)]]
                $0.inFlightAt = 7
            })
        let state = try await subject.reopen()
        #expect(state.pending == [entries.entry(1, "new", inFlightSince: 7), entries.entry(2)])
    }

    // C-77
    @Test(arguments: Kind.allCases)
    func `failures → dead letters until they are discarded, except cancelled messages`(kind: Kind) async throws {
        let (subject, entries) = try await opened(kind)
        let failures: [SendFailure] = [
            .refused(ErrorCode(rawValue: 9), reason: "no"), .expired, .closed, .cancelled,
        ]
        try await subject.outbox.commit(
            entries.transaction {
                $0.appended = (1...4).map { entries.entry($0, "\($0)", timeToLive: .seconds(5), expiresAt: 9) }
                $0.outcomes = failures.enumerated().map { entries.outcome(UInt64($0 + 1), .failed($1)) }
            })
        let state = try await subject.reopen()
        #expect(state.pending == [])
        #expect(state.outcomes.map(\.result) == failures[...2].map { .failed($0) })
        let letters = try await subject.outbox.deadLetters(in: "a")
        #expect(letters.map(\.failure) == Array(failures[...2]))
        #expect(letters.map(\.content.text) == ["1", "2", "3"] && letters.allSatisfy { $0.timeToLive == .seconds(5) })
        #expect(try await subject.outbox.deadLetters(in: "b") == [])
        try await subject.outbox.commit(
            entries.transaction {
                $0.appended = [entries.entry(5)]
                $0.discarded = [entries.id(1), entries.id(5), entries.id(9)]
            })
        _ = try await subject.reopen()
        #expect(try await subject.outbox.deadLetters(in: "a").map(\.id.counter) == [2, 3])
    }

    // C-80
    @Test(arguments: Kind.allCases)
    func `a second mark → the time of the first hand-over remains`(kind: Kind) async throws {
        let (subject, entries) = try await opened(kind)
        try await subject.outbox.commit(entries.transaction { $0.appended = [entries.entry(1)] })
        for time in [5, 9] as [UInt64] {
            try await subject.outbox.commit(
                entries.transaction {
                    $0.inFlight = ["a": [entries.id(1)]]
                    $0.inFlightAt = time
                })
        }
        #expect(try await subject.reopen().pending.map(\.inFlightSince) == [5])
    }

    // C-77
    @Test(arguments: Kind.allCases)
    func `a message that replaces a dead letter → the message and no letter`(kind: Kind) async throws {
        let (subject, entries) = try await opened(kind)
        try await subject.outbox.commit(
            entries.transaction {
                $0.appended = [entries.entry(1)]
                $0.outcomes = [entries.outcome(1, .failed(.closed))]
            })
        try await subject.outbox.commit(
            entries.transaction {
                $0.appended = [entries.entry(2)]
                $0.replaced = [entries.id(2): entries.id(1)]
            })
        #expect(try await subject.reopen().pending.map(\.id.counter) == [2])
        #expect(try await subject.outbox.deadLetters(in: "a") == [])
    }

    @Test(arguments: Kind.allCases)
    func `a second outcome, or the outcome of an unknown message → ignored`(kind: Kind) async throws {
        let (subject, entries) = try await opened(kind)
        try await subject.outbox.commit(
            entries.transaction {
                $0.appended = [entries.entry(1)]
                $0.outcomes = [
                    entries.outcome(1, .accepted(offset: 3)), entries.outcome(1, .failed(.closed)),
                    entries.outcome(2, .failed(.closed)),
                ]
            })
        _ = try await subject.reopen()
        #expect(try await subject.outbox.deadLetters(in: "a") == [])
    }

    @Test(arguments: Kind.allCases)
    func `a lower cursor of the same log → ignored; a cursor of another log → stored`(kind: Kind) async throws {
        let (subject, entries) = try await opened(kind)
        func save(_ log: UInt64?, _ offset: UInt64) async throws {
            let cursor = RoomCursor(log: log.map { LogID(rawValue: $0) }, offset: offset)
            try await subject.outbox.commit(entries.transaction { $0.cursors = ["a": cursor] })
        }
        try await save(nil, 2)
        try await save(7, 5)
        try await save(7, 3)
        #expect(try await subject.reopen().cursors == ["a": RoomCursor(log: LogID(rawValue: 7), offset: 5)])
        try await save(.max, 1)
        #expect(try await subject.reopen().cursors == ["a": RoomCursor(log: LogID(rawValue: .max), offset: 1)])
    }
}
