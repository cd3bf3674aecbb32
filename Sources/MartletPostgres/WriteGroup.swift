package import MartletLink
package import MartletRelay
import MartletWire

/// The calls of one transaction, as statements: the appends are one, progress is one, and so is the creation of rooms.
struct WriteGroup {
    /// What is known of a room after an append.
    struct Appended {
        /// What other relays learn.
        let revision: RoomRevision
        var room: RoomName { revision.room }
        var lastOffset: UInt64 { revision.lastOffset }
        let firstOffset: UInt64
        let byteCount: Int
        let foldedOffset: UInt64
        /// The bounds of the room itself.
        let bounds: RoomRetention
    }

    private enum RolesAnswer: Int64 {
        case saved = 0
        case exist, tooManyRooms, full, changed

        var error: RoomStoreError? {
            switch self {
            case .saved: nil
            case .exist: .roomHasRoles
            case .tooManyRooms: .tooManyRooms
            case .full: .rolesFull
            case .changed: .rolesChanged
            }
        }
    }

    let entries: [WriteQueue.Entry]
    private(set) var queries: [PostgresQuery] = []
    private var appends: [NumberedAppend] = []
    /// The calls whose answer is the result of the statement at an index.
    private var answers: [(index: Int, answer: (PostgresResult) -> Void)] = []
    /// The calls that have no result.
    private var completions: [RoomStoreReply<Void>] = []

    /// - Parameters:
    ///   - writer: The identity of the store, which its batches carry.
    ///   - earliestTime: The lowest time of a use of a room.
    init(_ entries: [WriteQueue.Entry], writer: [UInt8], earliestTime: UInt64) {
        self.entries = entries
        var (created, createdAt): ([RoomName: LogID], UInt64) = ([:], earliestTime)
        var progress: [RoomName: [AccountName: AccountProgress]] = [:]
        for entry in entries {
            switch entry.write {
            case .append(let append): appends.append(append)
            case .create(let room, let log, let time, let reply):
                created[room] = log
                createdAt = max(createdAt, time)
                completions.append(reply)
            case .progress(let marks, let room, let reply):
                progress[room, default: [:]].merge(marks) {
                    AccountProgress(delivered: max($0.delivered, $1.delivered), read: max($0.read, $1.read))
                }
                completions.append(reply)
            case .roles(let roles, let room, let version, let creation, let reply):
                addRoles(roles, room, version, creation, isRepeated: entry.isRepeated, reply)
            case .memberships(let changes, let room, let reply): addMemberships(changes, room, reply)
            case .retention(let bounds, let room, let reply):
                queries.append(bounds.query(saving: room))
                completions.append(reply)
            case .touch(let rooms, let time, let reply):
                var query = PostgresQuery(PostgresStatements.touch)
                query.add(rooms.sorted().map(\.bytes))
                query.add(max(time, earliestTime))
                queries.append(query)
                completions.append(reply)
            }
        }
        if !created.isEmpty { queries.append(Self.query(creating: created, at: createdAt)) }
        if !progress.isEmpty { queries.append(Self.query(saving: progress)) }
        if !appends.isEmpty {
            appends.sort { $0.room.id < $1.room.id }
            // Progress is durable with the next append at the latest.
            let isRelaxed = queries.count == (progress.isEmpty ? 0 : 1)
            queries.append(
                Self.query(
                    appending: appends, writer: writer, earliestTime: earliestTime, isRelaxed: isRelaxed))
        }
    }

    private static func query(creating rooms: [RoomName: LogID], at time: UInt64) -> PostgresQuery {
        let sorted = rooms.sorted { $0.key < $1.key }
        var query = PostgresQuery(PostgresStatements.create)
        query.add(sorted.map { $0.key.bytes })
        query.add(sorted.map(\.value.rawValue))
        query.add(time)
        return query
    }

    private static func query(saving progress: [RoomName: [AccountName: AccountProgress]]) -> PostgresQuery {
        var rows: [(room: RoomName, account: AccountName, marks: AccountProgress)] = []
        for (room, accounts) in progress { for (account, marks) in accounts { rows.append((room, account, marks)) } }
        // Relays that change the same rows in the same order do not wait for each other in a circle.
        rows.sort { ($0.room, $0.account) < ($1.room, $1.account) }
        var query = PostgresQuery(PostgresStatements.saveProgress)
        query.add(rows.map(\.room.bytes))
        query.add(rows.map(\.account.bytes))
        query.add(rows.map(\.marks.delivered))
        query.add(rows.map(\.marks.read))
        return query
    }

    /// The statement of appends, which are sorted by their rooms.
    ///
    /// - Parameter isRelaxed: Whether nothing else in the transaction has to be durable.
    static func query(
        appending appends: [NumberedAppend], writer: [UInt8], earliestTime: UInt64, isRelaxed: Bool = false
    ) -> PostgresQuery {
        var (first, pieces): ([Int64], [Int64]) = ([], [])
        var (offsets, counts, byteCounts, times): ([UInt64], [Int64], [Int64], [UInt64]) = ([], [], [], [])
        var messages: [[UInt8]?] = []
        var edits: [(room: Int64, target: MessageID, offset: UInt64)] = []
        for append in appends {
            let entries = append.append.entries
            first.append(Int64(messages.count + 1))
            for (batch, byteCount) in StoredBatch.divide(entries) {
                offsets.append(batch[batch.startIndex].offset)
                counts.append(Int64(batch.count))
                byteCounts.append(Int64(byteCount))
                times.append(max(batch[batch.endIndex - 1].acceptedAt, earliestTime))
                messages.append(StoredBatch.encode(batch))
            }
            pieces.append(Int64(messages.count + 1) - (first.last ?? 0))
            for entry in entries {
                if let target = entry.editTarget { edits.append((append.room.id, target, entry.offset)) }
            }
        }
        var query = PostgresQuery(PostgresStatements.append)
        query.add(appends.map(\.room.id))
        query.add(appends.map(\.room.log.rawValue))
        query.add(appends.map(\.append.expectedOffset))
        query.add(appends.map { Int64($0.append.entries.count) })
        query.add(appends.map { $0.append.entries.reduce(0) { $0 + Int64($1.body.byteCount) } })
        query.add(appends.map { max($0.append.entries.last?.acceptedAt ?? 0, earliestTime) })
        query.add(first)
        query.add(pieces)
        query.add(appends.map(\.number))
        query.add(offsets)
        query.add(counts)
        query.add(byteCounts)
        query.add(times)
        query.add(writer)
        query.add(messages)
        query.add(edits.map(\.room))
        query.add(edits.map(\.target.sender.bytes))
        query.add(edits.map(\.target.device.rawValue))
        query.add(edits.map(\.target.counter))
        query.add(edits.map(\.offset))
        query.add(appends.map(\.append.rolesVersion))
        query.add(Int64(isRelaxed ? 1 : 0))
        return query
    }

    private mutating func addRoles(
        _ roles: [UInt8], _ room: RoomName, _ version: UInt64, _ creation: RoomCreation?, isRepeated: Bool,
        _ reply: RoomStoreReply<Void>
    ) {
        var query = PostgresQuery(PostgresStatements.saveRoles)
        query.add(room.bytes)
        query.add(roles)
        query.add(version)
        query.add(creation?.account.bytes)
        query.add(Int64(creation?.maxRoomCount ?? 0))
        query.add(Int64(RoomRoles.maxByteCountPerCreator))
        query.add(Int64(isRepeated ? 1 : 0))
        queries.append(query)
        answers.append(
            (
                queries.count - 1,
                { result in
                    guard let answer = RolesAnswer(rawValue: result.int64(0, 0)) else {
                        return reply.fail(RoomStoreError.unanswered)
                    }
                    if let error = answer.error { reply.fail(error) } else { reply.succeed() }
                }
            ))
    }

    private mutating func addMemberships(
        _ changes: MembershipChanges, _ room: RoomName, _ reply: RoomStoreReply<Set<AccountName>>
    ) {
        let sorted = changes.sorted { $0.key < $1.key }
        var query = PostgresQuery(PostgresStatements.saveMemberships)
        query.add(room.bytes)
        query.add(sorted.map(\.key.bytes))
        query.add(sorted.map { $0.value.map { $0.isJoined ? 1 : 0 } ?? -1 as Int64 })
        query.add(sorted.map { $0.value?.inviter?.bytes })
        query.add(sorted.map { $0.value?.changedAt ?? 0 })
        query.add(sorted.map { $0.value.map { Int64(MembershipBounds.maxCount(with: $0)) } ?? 0 })
        queries.append(query)
        answers.append(
            (
                queries.count - 1,
                { result in
                    reply.succeed(Set(result.rows.compactMap { result.text($0, 0).flatMap { AccountName($0) } }))
                }
            ))
    }

    /// Answers the calls after the transaction has been committed. Returns the rooms of appends that were stored, and
    /// the appends whose logs do not end where they were expected to.
    func answer(_ results: [PostgresResult]) -> (stored: [Appended], others: [NumberedAppend]) {
        for (index, answer) in answers { answer(results[index]) }
        for reply in completions { reply.succeed() }
        guard !appends.isEmpty, let result = results.last else { return ([], []) }
        let changed = Self.changed(in: result)
        var (stored, others): ([Appended], [NumberedAppend]) = ([], [])
        for append in appends {
            guard let row = changed[append.room.id] else {
                others.append(append)
                continue
            }
            stored.append(Self.appended(append, result, row))
            append.reply.succeed(result.uint64(row, 1))
        }
        return (stored, others)
    }

    /// The rows of rooms that have taken their appends.
    static func changed(in result: PostgresResult) -> [Int64: Int32] {
        var rows: [Int64: Int32] = [:]
        for row in result.rows { rows[result.int64(row, 0)] = row }
        return rows
    }

    private static func appended(_ append: NumberedAppend, _ result: PostgresResult, _ row: Int32) -> Appended {
        Appended(
            revision: RoomRevision(
                room: append.append.room, log: append.room.log, lastOffset: result.uint64(row, 2),
                rolesVersion: append.append.rolesVersion),
            firstOffset: result.uint64(row, 1), byteCount: Int(result.int64(row, 3)),
            foldedOffset: result.uint64(row, 4), bounds: RoomRetention(result, row, from: 5) ?? RoomRetention())
    }
}

/// The answers of appends whose logs have other ends than expected.
enum AppendResolution {
    /// The maximum number of messages of a conflict.
    private static let maxCount = 1024
    /// The maximum number of bytes of the messages of a conflict.
    private static let maxByteCount = 1024 * 1024

    static func query(_ append: NumberedAppend, writer: [UInt8]) -> PostgresQuery {
        var query = PostgresQuery(PostgresStatements.appended)
        query.add(append.room.id)
        query.add(append.append.expectedOffset)
        query.add(writer)
        query.add(append.number)
        return query
    }

    /// The first offset if the log has the append itself, whose answer was lost.
    static func answer(_ append: NumberedAppend, _ result: PostgresResult) -> Result<UInt64, any Error> {
        guard !result.rows.isEmpty, LogID(rawValue: result.uint64(0, 0)) == append.room.log else {
            return .failure(RoomStoreError.logLost)
        }
        let (first, last) = (result.uint64(0, 1), result.uint64(0, 2))
        let expected = append.append.expectedOffset
        for row in result.rows where !result.isNull(row, 3) && result.uint64(row, 3) == expected {
            if result.int64(row, 6) == 1 { return .success(first) }
        }
        // A removed batch can have been the append itself.
        guard expected >= first else { return .failure(PostgresError.outOfOrder(lastOffset: last)) }
        if last &+ 1 == expected, result.uint64(0, 7) != append.append.rolesVersion {
            return .failure(RoomStoreError.rolesChanged)
        }
        guard last >= expected else { return .failure(PostgresError.outOfOrder(lastOffset: last)) }
        let range = ReadRange(from: expected, maxCount: maxCount, maxByteCount: maxByteCount)
        return Result {
            throw RoomStoreError.conflict(
                try PostgresReader.history(range, of: append.append.room, result, from: 1))
        }
    }
}

extension PostgresStore {
    /// The statement and the values of appends, for a comparison with libpq alone.
    package static func appendStatement(
        _ appends: [(room: Int64, log: LogID, append: RoomAppend)]
    ) -> (text: String, values: [[UInt8]?]) {
        let calls = appends.map {
            NumberedAppend(
                append: $0.append, room: KnownRoom(id: $0.room, log: $0.log), number: 1, reply: RoomStoreReply { _ in })
        }
        let query = WriteGroup.query(appending: calls, writer: [UInt8](repeating: 0, count: 16), earliestTime: 0)
        return (query.statement.text, query.ranges.map { range in range.map { Array(query.bytes[$0]) } })
    }
}
