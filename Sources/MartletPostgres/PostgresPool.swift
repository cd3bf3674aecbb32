import MartletLink
import MartletRelay
import MartletTransport
import MartletWire

/// The connections of a store and the calls that wait for them, on a loop of their own.
///
/// One connection writes: what arrives while a transaction is under way joins the next one. The others read, fold and
/// remove. A call whose connection ends without an answer is performed again on the next one. An append that had its
/// effect before is recognized by its batch, which carries the identity of the store and a number.
actor PostgresPool {
    /// The maximum number of calls that wait for a connection that reads. Further ones fail.
    private static let maxReadCount = 65_536
    /// The maximum number of attempts of a call that the database refuses for a reason that may pass.
    private static let maxAttemptCount = 5

    private struct ReadJob: Sendable {
        let perform: PostgresWork<Void>
        let fail: @Sendable (any Error) -> Void
        var refusalCount = 0
    }

    nonisolated let loop: EventLoop
    private let configuration: PostgresStore.Configuration
    private let onEvent: @Sendable (PostgresEvent) -> Void
    /// The identity that the batches of this store carry.
    private let identity: [UInt8]
    private var lastNumber: Int64 = 0
    private var connections: [PostgresConnection] = []
    private var writes = WriteQueue()
    private var writer: CheckedContinuation<Bool, Never>?
    private var reads: [ReadJob] = []
    private var readers: [CheckedContinuation<Bool, Never>] = []
    private var known = KnownRooms()
    /// The connection to other relays, which learn of changes if the store is shared.
    private nonisolated let listener: PostgresListener
    /// The rooms that are being folded and trimmed, with the times for which they need it again.
    private var maintained: [RoomName: [UInt64]] = [:]
    private var availability: PostgresAvailability
    private var opening: CheckedContinuation<PostgresError?, Never>?
    /// Whether the first connection has been prepared, so that tables are no longer created.
    private nonisolated let isOpen = Guarded(false)
    private var isClosed = false
    private var activeCount = 0
    private var closing: CheckedContinuation<Void, Never>?
    /// The lowest time of a use of a room and of a batch.
    private var earliestTime: UInt64 = 0

    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe UnownedSerialExecutor(ordinary: loop) }

    init(
        _ configuration: PostgresStore.Configuration, on loop: EventLoop, _ listener: PostgresListener,
        onEvent: @escaping @Sendable (PostgresEvent) -> Void
    ) {
        self.loop = loop
        self.listener = listener
        self.configuration = configuration
        self.onEvent = onEvent
        identity = (0..<16).map { _ in UInt8.random(in: 0 ... .max) }
        availability = PostgresAvailability(maxWait: configuration.maxWait)
    }

    private var now: Instant { Instant(nanoseconds: loop.now) }

    // MARK: Life

    /// Connects, and brings the tables to the newest version.
    func open(_ uri: String) async throws(PostgresError) {
        let first = connection(to: uri, isWriter: true)
        connections.append(first)
        let failure = await withCheckedContinuation { continuation in
            opening = continuation
            Task(executorPreference: loop) {
                _ = await first.ready()
                await self.opened(nil)
            }
        }
        if let failure {
            await first.close()
            throw failure
        }
        isOpen.withLock { $0 = true }
        for _ in 1..<max(configuration.maxConnectionCount, 2) { connections.append(connection(to: uri)) }
        activeCount = connections.count
        if configuration.isShared { await listener.open(uri, as: configuration.place, configuration.deadlines) }
        Task(executorPreference: loop) { await self.serveWrites(first) }
        for connection in connections.dropFirst() {
            Task(executorPreference: loop) { await self.serveReads(connection) }
        }
    }

    private func opened(_ failure: PostgresError?) {
        opening?.resume(returning: failure)
        opening = nil
    }

    private func connection(to uri: String, isWriter: Bool = false) -> PostgresConnection {
        let (isShared, place) = (configuration.isShared, configuration.place)
        return PostgresConnection(
            to: uri, on: loop, configuration.deadlines,
            prepareSession: { [weak self] connection throws(PostgresError) in
                let isFirst = isWriter && self?.isOpen.withLock { !$0 } ?? false
                try await PostgresSchema.prepare(connection, creates: isFirst)
                if isWriter { try await PostgresSchema.lock(connection, isShared: isShared) }
                try await PostgresSchema.check(place, connection)
            },
            onReady: { [weak self] in self?.assumeIsolated { $0.connected(isWriter: isWriter) } },
            onFailure: { [weak self] error in self?.assumeIsolated { $0.failed(error, isWriter: isWriter) } })
    }

    /// Completes the waiting calls if the database answers, and ends the connections. Later calls fail.
    func close() async {
        isClosed = true
        endWaiting()
        // Those that wait for calls end.
        writer?.resume(returning: true)
        writer = nil
        for reader in readers { reader.resume(returning: true) }
        readers = []
        await listener.close()
        if activeCount > 0 { await withCheckedContinuation { closing = $0 } }
        for connection in connections { await connection.close() }
        abandon(.closed)
    }

    /// Calls fail from now on while the database is away.
    func endWaiting() {
        availability.isEnding = true
        if isAbandoned { abandon(.unavailable("the relay ends")) }
    }

    private func ended() {
        activeCount -= 1
        if activeCount == 0 { closing?.resume() }
    }

    private func failed(_ error: PostgresError, isWriter: Bool) {
        guard isOpen.withLock({ $0 }) else { return opened(error) }
        for change in availability.failed(isWriter: isWriter, now: now) {
            switch change {
            case .lost: onEvent(.lost(error))
            case .abandon: abandon(error)
            case .recovered: break
            }
        }
    }

    /// A connection is the answer of the database if no call waits for a better one.
    private func connected(isWriter: Bool) {
        guard writes.isEmpty else { return }
        if isWriter { availability.writerReturned() }
        if reads.isEmpty { answered(isWriter: isWriter) }
    }

    private func answered(isWriter: Bool) {
        if case .recovered(let duration)? = availability.answered(isWriter: isWriter, now: now) {
            onEvent(.recovered(after: duration))
        }
    }

    /// Fails the calls that wait. The connections of a store that is being closed need not come back.
    private func abandon(_ error: PostgresError) {
        if isClosed { for connection in connections { Task { await connection.close() } } }
        let (writes, reads) = (self.writes.removeAll(), self.reads)
        self.reads = []
        for job in reads { job.fail(error) }
        abandon(writes, error, otherCount: reads.count)
    }

    private func abandon(_ writes: [WriteQueue.Entry], _ error: any Error, otherCount: Int = 0) {
        for entry in writes { entry.write.fail(error) }
        let (callCount, messageCount) = (writes.count + otherCount, writes.reduce(0) { $0 + $1.write.messageCount })
        if callCount > 0 { onEvent(.abandoned(callCount: callCount, messageCount: messageCount)) }
    }

    /// The reason why a call cannot wait; nil if it can.
    private var refusal: PostgresError? {
        if isClosed { return .closed }
        return availability.refuses(now: now) ? .unavailable("it has been away for too long") : nil
    }

    // MARK: Calls

    func perform(_ calls: [RoomStoreCall], at time: UInt64) {
        for call in calls {
            if let refusal {
                call.fail(refusal)
                continue
            }
            switch call {
            case .load(let room, let reply): load(room, at: time, reply)
            case .append(let append, let reply): self.append(append, reply)
            case .read(let range, let room, let reply):
                read(reply) { try await PostgresReader.read(range, of: room, $0) }
            case .readMemberships(let read, let account, let reply):
                self.read(reply) { try await PostgresReader.entries(of: account, read, $0) }
            case .saveProgress(let progress, let room, let reply): write(.progress(progress, room, reply))
            case .saveRoles(let roles, let room, let version, let creation, let reply):
                saveRoles(roles, of: room, replacing: version, creation, reply)
            case .listRooms(let read, let reply):
                self.read(reply) { try await PostgresReader.rooms(read, $0) }
            case .saveRetention(let bounds, let room, let reply): saveRetention(bounds, of: room, reply)
            case .changes(let since, let reply):
                read(reply) { try await PostgresReader.changes(since: since, $0) }
            case .saveMemberships(let changes, let room, let reply): write(.memberships(changes, room, reply))
            case .touch(let rooms, let reply): write(.touch(rooms, at: time, reply))
            }
        }
    }

    private func append(_ append: RoomAppend, _ reply: RoomStoreReply<UInt64>) {
        guard let room = known[append.room], append.log == nil || append.log == room.log else {
            return reply.fail(RoomStoreError.logLost)
        }
        for (index, entry) in append.entries.enumerated()
        where entry.offset != append.expectedOffset &+ UInt64(index) || entry.offset >= UInt64(Int64.max) {
            return reply.fail(PostgresError.outOfOrder(lastOffset: append.expectedOffset &- 1))
        }
        lastNumber += 1
        write(.append(NumberedAppend(append: append, room: room, number: lastNumber, reply: reply)))
    }

    private func saveRetention(_ bounds: RoomRetention, of room: RoomName, _ reply: RoomStoreReply<Void>) {
        let saved = RoomStoreReply<Void> { [weak self] result in
            reply.complete(result.mapError { $0 as any Error })
            if case .success = result { self?.assumeIsolated { $0.maintain(room, at: $0.earliestTime) } }
        }
        write(.retention(bounds, room, saved))
    }

    private func saveRoles(
        _ roles: [UInt8], of room: RoomName, replacing version: UInt64, _ creation: RoomCreation?,
        _ reply: RoomStoreReply<Void>
    ) {
        let saved = RoomStoreReply<Void> { [weak self] result in
            reply.complete(result.mapError { $0 as any Error })
            if case .success = result { self?.assumeIsolated { $0.rolesSaved(room, version: version &+ 1) } }
        }
        write(.roles(roles, room, replacing: version, creation, saved))
    }

    private func rolesSaved(_ room: RoomName, version: UInt64) {
        guard let log = known[room]?.log else { return }
        report(RoomRevision(room: room, log: log, lastOffset: 0, rolesVersion: version))
    }

    /// Other relays are to learn of a change.
    private func report(_ revision: RoomRevision) { listener.assumeIsolated { $0.report(revision) } }

    /// The snapshot of a room. A room that the database does not have begins a log, and is loaded again.
    private func load(_ room: RoomName, at time: UInt64, _ reply: RoomStoreReply<RoomSnapshot>) {
        submit { [weak self] connection in
            guard let self else { return }
            guard let (row, snapshot) = try await PostgresReader.load(room, connection) else {
                return await create(room, at: time, reply)
            }
            await loaded(room, row, at: time)
            reply.succeed(snapshot)
        } fail: {
            reply.fail($0)
        }
    }

    private func create(_ room: RoomName, at time: UInt64, _ reply: RoomStoreReply<RoomSnapshot>) {
        let created = RoomStoreReply<Void> { [weak self] result in
            switch result {
            case .success: self?.assumeIsolated { $0.load(room, at: time, reply) }
            case .failure(let error): reply.fail(error.cause)
            }
        }
        write(.create(room, LogID(rawValue: .random(in: 0 ... .max)), at: time, created))
    }

    private func loaded(_ room: RoomName, _ row: RoomRow, at time: UInt64) {
        known[room] = KnownRoom(id: row.id, log: row.log)
        if row.usedAt + PostgresStore.touchInterval < time {
            write(.touch([room], at: time, RoomStoreReply { _ in }))
        }
        if row.lastOffset - row.foldedOffset >= PostgresRetention.maxUnfoldedCount { maintain(room, at: 0) }
    }

    /// Reads a value on a connection, as part of the calls that wait.
    func read<Value: Sendable>(_ body: @escaping PostgresWork<Value>) async throws -> Value {
        if let refusal { throw refusal }
        return try await withCheckedContinuation { continuation in
            read(RoomStoreReply { continuation.resume(returning: $0.mapError(\.cause)) }, body)
        }.get()
    }

    private func read<Value: Sendable>(
        _ reply: RoomStoreReply<Value>, _ body: @escaping PostgresWork<Value>
    ) {
        submit {
            reply.succeed(try await body($0))
        } fail: {
            reply.fail($0)
        }
    }

    /// - Parameter perform: Uses the reply last, so that it can be performed again after an error.
    private func submit(
        _ perform: @escaping PostgresWork<Void>,
        fail: @escaping @Sendable (any Error) -> Void
    ) {
        guard reads.count < Self.maxReadCount else { return fail(PostgresError.overloaded) }
        reads.append(ReadJob(perform: perform, fail: fail))
        readers.popLast()?.resume(returning: true)
    }

    private func write(_ write: StoreWrite) {
        guard writes.add(write) else { return write.fail(PostgresError.overloaded) }
        writer?.resume(returning: true)
        writer = nil
    }

    // MARK: Reading

    private func serveReads(_ connection: PostgresConnection) async {
        while await connection.ready() {
            guard let job = await nextRead() else { break }
            do {
                try await job.perform(connection)
                answered(isWriter: false)
            } catch {
                failed(job, error)
            }
            await connection.finishTransaction()
        }
        ended()
    }

    private func nextRead() async -> ReadJob? {
        while reads.isEmpty {
            guard !isClosed else { return nil }
            _ = await withCheckedContinuation { readers.append($0) }
        }
        return reads.removeFirst()
    }

    private func failed(_ job: ReadJob, _ error: any Error) {
        guard let cause = error as? PostgresError, cause.isTransient, refusal == nil || isClosed && !isAbandoned else {
            return job.fail(error)
        }
        var job = job
        if cause.isOfStatement { job.refusalCount += 1 }
        guard job.refusalCount < Self.maxAttemptCount else { return job.fail(error) }
        reads.insert(job, at: 0)
    }

    private var isAbandoned: Bool { availability.refuses(now: now) }

    // MARK: Writing

    private func serveWrites(_ connection: PostgresConnection) async {
        while await connection.ready() {
            guard let group = await nextGroup() else { break }
            await perform(group, connection)
            await connection.finishTransaction()
        }
        ended()
    }

    private func nextGroup() async -> [WriteQueue.Entry]? {
        while writes.isEmpty {
            guard !isClosed else { return nil }
            _ = await withCheckedContinuation { writer = $0 }
        }
        return writes.take()
    }

    private func perform(_ entries: [WriteQueue.Entry], _ connection: PostgresConnection) async {
        do {
            if entries.count == 1, case .append(let call) = entries[0].write, !call.append.erasures.isEmpty {
                return try await erase(call, connection)
            }
            let group = WriteGroup(entries, writer: identity, earliestTime: earliestTime)
            let results = try await connection.run(group.queries)
            answered(isWriter: true)
            let (stored, others) = group.answer(results)
            for room in stored {
                if configuration.retention.concerns(room) { maintain(room.room, at: 0) }
                report(room.revision)
            }
            if !others.isEmpty { await resolve(others, connection) }
        } catch {
            failed(entries, error)
        }
    }

    private func erase(_ call: NumberedAppend, _ connection: PostgresConnection) async throws {
        let first = try await PostgresEraser.append(
            call, writer: identity, earliestTime: earliestTime, connection)
        answered(isWriter: true)
        guard let first else { return await resolve([call], connection) }
        call.reply.succeed(first)
        let (append, last) = (call.append, call.append.entries.last?.offset ?? 0)
        report(
            RoomRevision(room: append.room, log: call.room.log, lastOffset: last, rolesVersion: append.rolesVersion))
    }

    /// Answers the appends whose logs do not end where they were expected to. Those that cannot be resolved now are
    /// sent again.
    private func resolve(_ appends: [NumberedAppend], _ connection: PostgresConnection) async {
        let queries = appends.map { AppendResolution.query($0, writer: identity) }
        do {
            let results = try await connection.run(queries)
            for (append, result) in zip(appends, results) {
                let answer = AppendResolution.answer(append, result)
                if case .failure(RoomStoreError.logLost) = answer { known[append.append.room] = nil }
                append.reply.complete(answer)
            }
        } catch {
            var again = WriteQueue()
            for append in appends { _ = again.add(.append(append)) }
            failed(again.removeAll(), error)
        }
    }

    private func failed(_ entries: [WriteQueue.Entry], _ error: any Error) {
        guard let cause = error as? PostgresError else {
            for entry in entries { entry.write.fail(error) }
            return
        }
        guard !isAbandoned else { return abandon(entries, error) }
        guard cause.isOfStatement else {
            if cause.isTransient { return writes.putBack(entries) }
            for entry in entries { entry.write.fail(error) }
            return
        }
        // One call can be the reason for the refusal of all.
        let isLast = !cause.isTransient && entries.count == 1
        let others = entries.filter { !isLast && $0.refusalCount + 1 < Self.maxAttemptCount }
        if others.count < entries.count {
            for entry in entries where isLast || entry.refusalCount + 1 >= Self.maxAttemptCount {
                entry.write.fail(error)
            }
        }
        writes.putBack(
            others, isRefused: true, isSplit: !cause.isTransient || others.contains { $0.refusalCount > 0 })
    }

    // MARK: Retention

    /// Folds and trims a room.
    private func maintain(_ room: RoomName, at now: UInt64) {
        guard !isClosed else { return }
        guard maintained[room] == nil else { return maintained[room] = [max(now, maintained[room]?.last ?? 0)] }
        maintained[room] = []
        let retention = configuration.retention
        submit { [weak self] connection in
            try await retention.maintain(room, at: now, connection)
            await self?.maintained(room, nil)
        } fail: { [weak self] error in
            self?.assumeIsolated { $0.maintained(room, error) }
        }
    }

    private func maintained(_ room: RoomName, _ error: (any Error)?) {
        let next = maintained.removeValue(forKey: room)?.last
        if let error { onEvent(.retentionFailed(error)) }
        if let next { maintain(room, at: next) }
    }

    /// Sets the clock of retention, and makes a pass unless another relay has made one within `interval` milliseconds.
    func removeOld(at now: UInt64, every interval: UInt64) async throws {
        earliestTime = now
        let retention = configuration.retention
        guard try await read({ try await PostgresRetention.beginPass(at: now, every: interval, $0) }) else { return }
        var id: Int64? = 0
        while let after = id {
            let step = try await read { try await retention.step(after: after, at: now, $0) }
            for room in step.rooms { maintain(room, at: now) }
            id = step.last
        }
    }
}
