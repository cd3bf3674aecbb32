import Martlet
import MartletLink
import MartletRelay
import MartletTestKit
import MartletWire

/// The application of one device, which lives several times, each with a client of its own.
///
/// `@unchecked Sendable`: its state is used by the thread that runs the world.
final class LifeApplication: @unchecked Sendable {
    let number: Int
    let plan: LifeScenario.Device
    let device: TestDevice
    private let world: TestWorld
    private let ledger: Ledger
    private let calls: LifeCalls
    private let members: LifeMembers
    let weather: StorageWeather
    private(set) var readers: [LifeReader] = []
    private let base: InMemoryOutbox
    /// Present if the application reads by a timeline.
    private let timeline: (any LifeTimeline)?
    /// The IDs that the device has had.
    private var deviceIDs: Set<DeviceID> = []
    private var backup: (outbox: InMemoryOutbox, nextCounter: UInt64)?
    private var hasRestored = false
    var random: SeededRandom
    private(set) var lifeCount = 0
    /// Whether all faults are over, and the application only receives.
    private var isSettling = false
    var client: Client?
    var rooms: [RoomName: Room] = [:]
    private var lastText = 0
    /// The number of requests from other members that were answered.
    var answerCount = 0
    /// Whether the current client was killed.
    private var isKilled = false
    private let peers: [AccountName]
    private let hasRefusals: Bool

    init(
        _ number: Int, in scenario: LifeScenario, _ world: TestWorld, _ ledger: Ledger, _ calls: LifeCalls,
        _ members: LifeMembers, _ timeline: (any LifeTimeline)?
    ) {
        self.timeline = timeline
        self.number = number
        self.world = world
        self.ledger = ledger
        self.calls = calls
        self.members = members
        plan = scenario.devices[number]
        random = SeededRandom(seed: world.nextRandom())
        peers = scenario.devices.map(\.account)
        hasRefusals = scenario.hasRefusals
        let id = DeviceID(rawValue: UInt64(number + 1))
        base = InMemoryOutbox(device: id)
        weather = StorageWeather(world, maxDelay: .milliseconds(200))
        device = world.device(
            plan.account.text, outbox: plan.hasDelayedOutbox ? DelayedOutbox(base, weather) : base,
            conditions: plan.conditions)
        device.configuration.maxPendingMessages = plan.maxPendingMessages
        ledger.note(number, plan.restoresOutbox ? "restores its outbox, reads as" : "reads as", plan.reading.number)
        readers = scenario.rooms.map { room in
            LifeReader(room, device: number, ownIDs: { [unowned self] in noteDevice() }, ledger)
        }
    }

    /// The IDs of the device. The client can have replaced the current one.
    @discardableResult
    private func noteDevice() -> Set<DeviceID> {
        deviceIDs.insert(base.device)
        return deviceIDs
    }

    private func happens(perMille: Int) -> Bool { random.happens(perMille: perMille) }

    /// A duration with the mean `mean`, at most four times as long.
    func duration(around mean: Duration) -> Duration {
        let share = Double(random.next() % 1000) / 1000
        return mean * (share * share * 3)
    }

    // MARK: - Calls

    /// Makes a call that ends within a limit, if it has one.
    private func call<Result>(
        _ name: StaticString, within limit: Duration? = nil, _ body: () async throws -> Result
    ) async throws -> Result {
        let number = calls.begin(name, of: number, within: limit)
        defer { calls.end(number) }
        do { return try await body() } catch {
            if !(error is MartletError || error is CancellationError) {
                ledger.fail(.errorsAreDocumented, "device \(self.number): \(name) throws \(error)")
            }
            throw error
        }
    }

    // MARK: - Lives

    /// Lives until `end`, with pauses between the lives.
    func live(until end: Instant) async {
        while ledger.now < end, !Task.isCancelled {
            await live(for: min(duration(around: .seconds(600)), end - ledger.now))
            try? await world.sleep(for: duration(around: .seconds(20)))
            if plan.restoresOutbox { await copyOrRestoreOutbox() }
        }
    }

    // MARK: - Files

    /// Copies the outbox, or replaces it by the copy. Of the used counters the relay knows the last 64 (R-150).
    private func copyOrRestoreOutbox() async {
        // The calls of an earlier client end.
        try? await world.sleep(for: .seconds(1))
        let nextCounter = base.open().nextCounter
        if let backup, nextCounter - backup.nextCounter < 60 {
            restore(backup.outbox)
            self.backup = nil
        } else {
            let copy = InMemoryOutbox(device: base.device)
            copy.restore(base)
            backup = (copy, nextCounter)
        }
    }

    private func restore(_ other: InMemoryOutbox) {
        noteDevice()
        base.restore(other)
        noteDevice()
        hasRestored = true
        let state = base.open()
        ledger.restoredOutbox(of: number, pending: state.pending.map(\.content))
        for reader in readers { reader.restore(state.cursors[reader.room]) }
        ledger.note(number, "has an earlier outbox", state.nextCounter)
    }

    // MARK: - Parts of a life

    private enum Ending: CaseIterable {
        case stop
        case kill
        case release
    }

    func live(for time: Duration) async {
        guard await begin() else { return }
        await withTaskGroup(of: Void.self) { group in
            addReaders(to: &group)
            let acting = world.startTask { await self.act() }
            try? await world.sleep(for: time)
            let ending = Ending.allCases[Int(random.next() % 3)]
            if ending == .release || happens(perMille: 500) { acting.cancel() }
            if ending == .release {
                await acting.value
                // An iteration keeps the client alive, so all of them end before the release.
                noteRelease()
                group.cancelAll()
                await group.waitForAll()
                await timeline?.end()
            }
            await end(ending)
            acting.cancel()
            await acting.value
        }
        client = nil
        rooms = [:]
        await timeline?.end()
        await device.kill()
    }

    /// Starts a client; false if that fails.
    private func begin() async -> Bool {
        lifeCount += 1
        isKilled = false
        guard let client = try? device.makeClient() else { return false }
        do {
            try await call("start", within: .seconds(5)) { try await client.start() }
            try await timeline?.begin(client)
        } catch {
            await device.kill()
            return false
        }
        self.client = client
        return true
    }

    private func end(_ ending: Ending) async {
        switch ending {
        case .stop:
            guard let client else { return }
            try? await call("stop", within: .seconds(30)) { await client.stop() }
        case .kill:
            ledger.note(number, "is killed")
            let delay: Duration = weather.fails || plan.hasDelayedOutbox ? .seconds(20) : .milliseconds(100)
            if plan.reading != .deliveries { for reader in readers { reader.killed(durableAfter: delay) } }
            noteKill()
            isKilled = true
            await device.kill()
        case .release:
            // The release of the last reference stops the client without a flush.
            guard let status = client?.status else { return }
            client = nil
            rooms = [:]
            device.release()
            try? await call("release", within: .seconds(30)) { for await _ in status {} }
        }
    }

    /// The cursors of handled messages may not have reached the outbox.
    private func noteRelease() {
        guard plan.reading != .deliveries else { return }
        for reader in readers { reader.killed(durableAfter: .seconds(weather.fails ? 3600 : 20)) }
    }

    /// A message that was queued at this instant may not have reached the outbox.
    private func noteKill() {
        for text in queuedNow(at: ledger.now) { ledger.set(text, .mayBeStored) }
    }

    private var queued: [(at: Instant, text: String)] = []

    private func queuedNow(at now: Instant) -> [String] {
        queued.filter { $0.at == now }.map(\.text)
    }

    private func addReaders(to group: inout TaskGroup<Void>) {
        for reader in readers { group.addTask { await self.keepOpen(reader) } }
        if let timeline {
            group.addTask { _ = try? await self.call("timeline") { try await timeline.run() } }
        }
        if let status = client?.status {
            group.addTask {
                try? await self.call("status") { for await _ in status { self.ledger.note(self.number, "status") } }
            }
        }
    }

    // MARK: - The last life

    /// Receives all messages, waits until nothing is pending, and sends a last message to each room. Each phase returns
    /// after `limit` at the latest.
    ///
    /// - Parameter waitForPeers: Waits until the other devices have ended a phase, because they can send replies.
    /// - Returns: The state of the device in each room.
    func settle(within limit: Duration, waitForPeers: @Sendable (_ phase: Int) async -> Void) async -> [LifeView] {
        isSettling = true
        guard await begin() else {
            ledger.fail(.everythingArrives, "device \(number) cannot start")
            return []
        }
        var views: [LifeView] = []
        await withTaskGroup(of: Void.self) { group in
            addReaders(to: &group)
            await waitUntilSettled(within: limit)
            await waitForPeers(0)
            for room in readers.map(\.room) { await sendLast(to: room) }
            await waitUntilSettled(within: limit)
            await waitForPeers(1)
            for room in readers.map(\.room) where happens(perMille: 600) { await markRead(room) }
            // A dead connection is noticed, and the marks are sent on the next one.
            try? await world.sleep(for: .seconds(90))
            for room in readers.map(\.room) { if let view = await view(of: room) { views.append(view) } }
            await waitForPeers(2)
            await self.end(.stop)
        }
        client = nil
        rooms = [:]
        await timeline?.end()
        await device.kill()
        return views
    }

    private func waitUntilSettled(within limit: Duration) async {
        let end = ledger.now + limit
        while ledger.now < end, !Task.isCancelled, !isSettled {
            try? await world.sleep(for: .milliseconds(500))
            await noteCursors()
        }
        if !isSettled { ledger.fail(.everythingArrives, "device \(number): \(remainder)") }
    }

    /// The timeline stores its cursors.
    private func noteCursors() async {
        guard let timeline else { return }
        for reader in readers {
            guard let cursor = try? await timeline.cursor(of: reader.room) else { continue }
            reader.restore(cursor)
        }
    }

    private func sendLast(to name: RoomName) async {
        let text = "last \(nextText())"
        guard let room = rooms[name], let message = try? OutgoingMessage(text: text) else { return }
        ledger.sending(text, from: number, in: name)
        do {
            let handle = try await call("send") { try await submit(message, in: room) }
            ledger.set(text, .isStored)
            _ = try await call("accepted", within: .seconds(60)) { try await handle?.accepted() }
        } catch {
            ledger.fail(.everythingArrives, "device \(number): the last message to \(name) throws \(error)")
        }
    }

    var isSettled: Bool {
        readers.allSatisfy { reader in
            guard let room = rooms[reader.room] else { return false }
            return room.pending.isEmpty && reader.hasHandledAll
        }
    }

    private var remainder: String {
        readers.map { reader in
            guard let room = rooms[reader.room] else { return "\(reader.room) is not open" }
            return
                "\(reader.room) has \(room.pending.count) pending messages, and has handled \(reader.mayBeHandled) of "
                + "\(ledger.logs[reader.room].count)"
        }.joined(separator: "; ") + "; the client is \(client?.currentStatus.description ?? "gone")"
    }

    private func view(of name: RoomName) async -> LifeView? {
        guard let client, let room = rooms[name] else { return nil }
        do {
            let list = try await call("rooms", within: .seconds(60)) { try await client.rooms() }
            let letters = try await call("deadLetters", within: .seconds(30)) { try await room.deadLetters() }
            return LifeView(
                device: number, account: plan.account, room: name, snapshot: room.snapshot,
                summary: list.first { $0.name == name }, pendingCount: base.open().pending.count, letters: letters,
                timeline: try await timeline?.view(of: name))
        } catch {
            ledger.fail(.everythingArrives, "device \(number) cannot be compared: \(error)")
            return nil
        }
    }

    // MARK: - Names

    private func nextText() -> String {
        lastText += 1
        return "message \(number) \(lastText)"
    }

    private func queuedNow(_ text: String) {
        if queued.count > 64 { queued.removeFirst(32) }
        queued.append((ledger.now, text))
    }

    /// The account of a random device.
    func peer() -> AccountName { peers[random.below(peers.count)] }

    // MARK: - Rooms
    // The rooms of an application, and its iterations over them.

    /// Opens a room and receives its messages, again while the relay refuses it, until the client ends.
    private func keepOpen(_ reader: LifeReader) async {
        while !Task.isCancelled, await open(reader) {
            rooms[reader.room] = nil
            do { try await world.sleep(for: isSettling ? .seconds(2) : duration(around: .seconds(10))) } catch {
                return
            }
        }
    }

    /// Opens a room and receives its messages until it ends. Returns whether the relay has closed it.
    private func open(_ reader: LifeReader) async -> Bool {
        await withTaskGroup(of: Void.self) { group in
            if let timeline {
                // Several tasks open the room at once.
                for _ in 0..<(isSettling ? 0 : random.next() % 3) {
                    group.addTask { await self.sendOpening(reader.room, timeline) }
                }
            }
            let room: Room
            do { room = try await openRoom(reader.room) } catch { return isClosed(error) }
            rooms[reader.room] = room
            reader.begin()
            // Some messages are sent by several tasks before the relay has opened the room.
            if happens(perMille: 300), !isSettling {
                for _ in 0..<(2 + random.next() % 6) { group.addTask { await self.send(in: room) } }
            }
            group.addTask { await self.answerRequests(in: room) }
            for handle in room.pending { group.addTask { await self.observe(handle, in: room) } }
            if timeline != nil {
                await followSnapshots(of: room)
                return !Task.isCancelled && client != nil
            }
            group.addTask { await self.followSnapshots(of: room) }
            while true {
                switch await read(reader, in: room) {
                case .again: try? await world.sleep(for: isSettling ? .milliseconds(10) : duration(around: .seconds(5)))
                case .closed: return true
                case .over: return false
                }
            }
        }
    }

    private func followSnapshots(of room: Room) async {
        try? await call("snapshots") { for await _ in room.snapshots {} }
    }

    private func isClosed(_ error: any Error) -> Bool {
        if case MartletError.Code.roomClosed = error { true } else { false }
    }

    private func openRoom(_ name: RoomName) async throws -> Room {
        guard let client else { throw CancellationError() }
        if let timeline { return try await call("open") { try await timeline.open(name) } }
        let waits = happens(perMille: 500)
        let options = Room.Options(waitsForRelay: waits)
        return try await call("open", within: waits ? nil : .seconds(1)) {
            try await client.open(room: name, options: options)
        }
    }

    private func sendOpening(_ name: RoomName, _ timeline: any LifeTimeline) async {
        guard let room = try? await call("open", { try await timeline.open(name) }) else { return }
        await send(in: room)
    }

    func observe(_ handle: MessageHandle, in room: Room) async {
        guard let offset = try? await call("accepted", { try await handle.accepted() }) else { return }
        ledger.accepted(handle.id, at: offset, in: room.name)
    }

    private func answerRequests(in room: Room) async {
        try? await call("requests") {
            for await request in room.requests {
                ledger.note(number, "is asked")
                // A request that is released is refused.
                guard !happens(perMille: 100) else { continue }
                answerCount += 1
                try? request.respond(text: request.text)
            }
        }
    }

    private enum Iteration {
        case again
        case closed
        case over
    }

    /// Iterates once.
    private func read(_ reader: LifeReader, in room: Room) async -> Iteration {
        ledger.note(number, "iterates")
        let limit = isSettling ? Int.max : 1 + Int(random.next() % 30)
        do {
            let isRead =
                switch plan.reading {
                case .deliveries: try await call("deliveries") { try await readDeliveries(reader, room, limit) }
                case .messages: try await call("messages") { try await readMessages(reader, room, limit) }
                case .items, .timeline: try await call("items") { try await readItems(reader, room, limit) }
                }
            return isRead ? .again : .over
        } catch MartletError.Code.gaveUp {
            return .again
        } catch MartletError.Code.roomClosed {
            return .closed
        } catch {
            if !(error is CancellationError), error as? MartletError != .stopped {
                ledger.fail(.errorsAreDocumented, "device \(number): an iteration throws \(error)")
            }
            return .over
        }
    }

    private func readMessages(_ reader: LifeReader, _ room: Room, _ limit: Int) async throws -> Bool {
        var iterator = room.messages.makeAsyncIterator()
        for _ in 0..<limit {
            requestNext(of: reader)
            guard let message = try await iterator.next() else { return false }
            reader.show(message)
            await pause()
        }
        return true
    }

    private func readItems(_ reader: LifeReader, _ room: Room, _ limit: Int) async throws -> Bool {
        var iterator = room.items.makeAsyncIterator()
        for _ in 0..<limit {
            requestNext(of: reader)
            guard let item = try await iterator.next() else { return false }
            switch item {
            case .message(let message): reader.show(message)
            case .gap(let offsets): ledger.skipped(offsets, in: room.name, of: room.log, by: number)
            case .logReplaced(let previous, _):
                ledger.reportedLoss(of: previous, in: room.name, to: number)
            }
            await pause()
        }
        return true
    }

    /// Records a call of `next`, by which the previous message counts as handled. After the release or the end of the
    /// client, the call may have no effect.
    private func requestNext(of reader: LifeReader) {
        guard let client else { return reader.mayRequestNext() }
        if case .stopped = client.currentStatus.phase { return reader.mayRequestNext() }
        reader.requestNext()
    }

    private func pause() async {
        if !isSettling, happens(perMille: 200) { try? await world.sleep(for: duration(around: .seconds(2))) }
    }

    // MARK: - Deliveries

    private func readDeliveries(_ reader: LifeReader, _ room: Room, _ limit: Int) async throws -> Bool {
        var count = 0
        var replies: [String] = []
        reader.begin()
        for try await delivery in room.deliveries {
            reader.show(delivery.message)
            if let reply = reply(to: delivery.message, in: room) { replies.append(reply) }
            await pause()
            count += 1
            // The loop is left without an acknowledgement of the last messages.
            if count >= limit, happens(perMille: 500) { return true }
            // The acknowledgement of a later delivery includes this one.
            if !isSettling, replies.count < 32, happens(perMille: 200) { continue }
            guard try await acknowledge(delivery, replies, reader) else { return !isSettling || client != nil }
            replies = []
            if count >= limit { return true }
        }
        return false
    }

    /// The text of the reply to a message; nil if this application does not answer it.
    private func reply(to message: RoomMessage, in room: Room) -> String? {
        guard plan.replies, message.offset % 3 == 0, message.text?.hasPrefix("message") == true else { return nil }
        return "reply \(number) \(message.offset) of \(message.cursor.log?.rawValue ?? 0) in \(room.name)"
    }

    /// Acknowledges a delivery; false if that fails.
    private func acknowledge(_ delivery: Room.Delivery, _ texts: [String], _ reader: LifeReader) async throws -> Bool {
        let offset = delivery.message.offset
        let before = reader.mayBeHandled
        reader.beginHandling(upTo: delivery.message.cursor)
        let replies = texts.compactMap { try? OutgoingMessage(text: $0) }
        ledger.replying(texts, from: number, in: reader.room)
        let limit: Duration? = replies.isEmpty ? .seconds(30) : nil
        let acknowledging = Task(executorPreference: world.executor) {
            _ = try await self.call("done", within: limit) { try await delivery.done(sending: replies) }
        }
        if !isSettling, happens(perMille: 50) {
            try? await world.sleep(for: duration(around: .milliseconds(100)))
            acknowledging.cancel()
        }
        do {
            try await acknowledging.value
            ledger.note(number, "acknowledges", offset)
            reader.endHandling(upTo: delivery.message.cursor)
            for text in texts { ledger.set(text, .isStored) }
            return true
        } catch {
            // A client that was stopped or killed has stored the cursor and the replies, or neither.
            if error as? MartletError == .stopped { throw error }
            if isKilled { return false }
            reader.refuseHandling(upTo: offset, before: before)
            if isClosed(error) { throw error }
            return false
        }
    }

    // MARK: - Other calls
    // The calls of an application beside those that receive.

    /// Makes random calls until the task is cancelled or the client ends.
    func act() async {
        await withTaskGroup(of: Void.self) { group in
            while !Task.isCancelled, client != nil {
                do { try await world.sleep(for: duration(around: plan.pace)) } catch { break }
                guard let client, let room = randomRoom() else { continue }
                await act(on: client, room, &group)
            }
        }
    }

    private func randomRoom() -> Room? {
        let open = readers.compactMap { rooms[$0.room] }
        return open.isEmpty ? nil : open[random.below(open.count)]
    }

    private func act(on client: Client, _ room: Room, _ group: inout TaskGroup<Void>) async {
        switch random.next() % 100 {
        case 0..<40: await send(in: room)
        case 40..<54:
            // Several tasks send at once.
            for _ in 0..<(1 + random.next() % 8) { group.addTask { await self.send(in: room) } }
        case 54..<58: client.enterBackground()
        case 58..<64: client.enterForeground()
        case 64..<68: client.retryNow()
        case 68..<72: _ = try? await call("metrics", within: .seconds(1)) { await client.metrics }
        case 72..<76: room.setTyping(happens(perMille: 500))
        case 76..<80: await markRead(room.name)
        case 80..<84: group.addTask { await self.ask(in: room) }
        case 84..<90: group.addTask { await self.readHistory(of: room) }
        case 90..<92:
            room.suspend()
            group.addTask {
                try? await self.world.sleep(for: .seconds(5))
                room.resume()
            }
        case 92..<94: await sortDeadLetters(of: room)
        case 94..<95: if !hasRefusals { await openTwice(client, room) }
        case 95..<98: group.addTask { await self.changeMembership(client) }
        case 98: group.addTask { _ = try? await self.call("rooms") { try await client.rooms() } }
        default: try? room.sendTransient(kind: .text, content: OutgoingMessage(text: "wave").content.bytes)
        }
    }

    // MARK: - Sending

    func send(in room: Room) async {
        let timeToLive: Duration? = happens(perMille: 100) ? .seconds(Int64(1 + random.next() % 20)) : nil
        // The number of the text is the place of the call.
        let text = nextText()
        guard let message = message(text, timeToLive, in: room.name) else { return }
        // Other messages than those with the text are compared in the log only.
        if RoomLogs.text(of: message.content) == text { ledger.sending(text, from: number, in: room.name) }
        do {
            let handle = try await call("send") { try await submit(message, in: room) }
            queuedNow(text)
            ledger.set(text, .isStored, as: handle?.id)
            guard let handle else { return }
            if happens(perMille: 100) {
                try? await world.sleep(for: duration(around: .milliseconds(300)))
                await cancel(handle, text)
            } else if happens(perMille: 300) {
                await observe(handle, in: room)
            } else if happens(perMille: 200) {
                await observeStates(of: handle, text)
            }
        } catch {
            // The outbox may have stored the last messages of a process that was killed.
            ledger.set(text, isKilled ? .mayBeStored : .isNotStored)
        }
    }

    /// Sends by the timeline, if there is one.
    private func submit(_ message: OutgoingMessage, in room: Room) async throws -> MessageHandle? {
        guard let timeline else { return try await room.send(message) }
        return room.message(try await timeline.send(message, in: room.name))
    }

    /// A text, a change of one of the latest messages, or a command.
    private func message(_ text: String, _ timeToLive: Duration?, in room: RoomName) -> OutgoingMessage? {
        let latest = ledger.logs[room].suffix(40)
        let target = latest.isEmpty ? nil : latest[latest.startIndex + random.below(latest.count)]
        let kind = random.next() % 20
        let reference = target.flatMap { target -> MessageReference? in
            switch target.body {
            case .text?, .reply?: MessageReference(target.id, offset: target.offset)
            default: nil
            }
        }
        guard let target, let reference, kind < 7 else {
            return try? OutgoingMessage(text: text, timeToLive: timeToLive)
        }
        switch kind {
        case 0, 1: return try? .reply(to: reference, text: text)
        case 2...3 where target.id.sender == plan.account: return try? .edit(of: reference, text: text)
        case 4 where target.id.sender == plan.account: return try? .delete(reference)
        case 5: return try? .reaction("+", to: reference, isRemoved: random.next() % 4 == 0)
        case 6: return try? OutgoingMessage(["n": number])
        default: return try? OutgoingMessage(text: text, timeToLive: timeToLive)
        }
    }

    private func markRead(_ name: RoomName) async {
        if let timeline {
            try? await call("markRead", within: .seconds(30)) { try await timeline.markRead(name) }
        } else if let room = rooms[name] {
            room.markRead(upTo: room.lastOffset - min(room.lastOffset, random.next() % 4))
        }
    }

    /// Retries and discards the messages that have failed.
    private func sortDeadLetters(of room: Room) async {
        guard let letters = try? await call("deadLetters", within: .seconds(30), { try await room.deadLetters() }),
            timeline == nil, !hasRestored
        else { return }
        for letter in letters where letter.failure != .outcomeUnknown && happens(perMille: 500) {
            guard let text = RoomLogs.text(of: letter.content) else { continue }
            if happens(perMille: 500) {
                ledger.retried(text)
                _ = try? await call("retry") { try await room.retry(letter) }
            } else {
                ledger.set(text, .mayBeStored)
                do {
                    try await call("discard") { try await room.discard(letter) }
                    ledger.set(text, .isNotStored)
                } catch {}
            }
        }
    }

    private func cancel(_ handle: MessageHandle, _ text: String) async {
        guard let isCancelled = try? await call("cancel", within: .seconds(1), { await handle.cancel() }) else {
            return
        }
        if isCancelled { ledger.set(text, .isCancelled) }
    }

    private func observeStates(of handle: MessageHandle, _ text: String) async {
        try? await call("states") {
            for await state in handle.states {
                ledger.note(number, "has a state")
                switch state {
                case .failed(.cancelled): ledger.set(text, .isCancelled)
                case .accepted: return
                case .queued, .sent, .delivered, .read, .failed: break
                }
            }
        }
    }

    // MARK: - Requests

    private func ask(in room: Room) async {
        let text = "question \(number)"
        let timeout = Duration.seconds(Int64(1 + random.next() % 20))
        let answer = try? await call("request", within: timeout + .seconds(1)) {
            try await room.request("ask", text: text, to: peer(), timeout: timeout)
        }
        if let answer, answer.text != text {
            ledger.fail(.requestsEndOnce, "device \(number) receives \(answer.text ?? "nothing")")
        }
    }

    private func readHistory(of room: Room) async {
        let offset = room.lastOffset > 0 ? 1 + random.next() % room.lastOffset : 1
        let cursor = RoomCursor(log: room.log, offset: offset)
        let isBefore = happens(perMille: 500)
        guard
            let page = try? await call(
                "history", within: .seconds(11),
                {
                    if isBefore { return try await room.messages(before: cursor, limit: 20) }
                    return try await room.messages(after: cursor, limit: 20)
                })
        else { return }
        var expected = page.messages.first?.offset ?? 0
        for message in page.messages {
            let isRight = message.offset == expected && (message.offset < offset) == isBefore
            if !isRight || ledger.logs.entry(at: message.offset, in: room.name)?.id != message.id {
                ledger.fail(.pagesAreOfTheLog, "device \(number): \(message.offset) in a page at \(offset)")
            }
            expected += 1
        }
    }

    private func openTwice(_ client: Client, _ room: Room) async {
        do {
            _ = try await call("open again", within: .seconds(1)) { try await client.open(room: room.name) }
            ledger.fail(.errorsAreDocumented, "device \(number) has opened \(room.name) twice")
        } catch MartletError.Code.roomAlreadyOpen, MartletError.Code.stopped, MartletError.Code.gaveUp,
            is CancellationError
        {
        } catch {
            ledger.fail(.errorsAreDocumented, "device \(number): open throws \(error)")
        }
    }

    // MARK: - Members
    // The membership records of an application's account.

    /// Changes a record of this account, or invites another account.
    private func changeMembership(_ client: Client) async {
        let change = LifeMembers.Change.allCases[Int(random.next() % 4)]
        let room = readers[random.below(readers.count)].room
        let account = change == .invite ? peer() : plan.account
        let pending = members.begin(change, of: account, in: room)
        do {
            try await call("membership", within: .seconds(11)) {
                switch change {
                case .join: try await client.join(room: room)
                case .leave: try await client.leave(room: room)
                case .decline: try await client.decline(room: room)
                case .invite: try await client.invite(account, to: room)
                }
            }
            members.end(pending, isExecuted: true)
        } catch let error as MartletError where error.errorCode == .notJoined {
            members.end(pending, isExecuted: false)
        } catch {
            // A request that was refused may have been executed, because the answer of the store can be lost.
            members.end(pending, isExecuted: nil)
        }
    }
}
