import Martlet
import MartletLink
import MartletRelay
import MartletTestKit
import MartletWire

/// The rooms of an application, and its iterations over them.
extension LifeApplication {
    /// Opens a room and receives its messages, again while the relay refuses it, until the client ends.
    func keepOpen(_ reader: LifeReader) async {
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
            case .gap(let offsets): ledger.fail(.nothingIsSkipped, "device \(number) has the gap \(offsets)")
            case .logReplaced(let previous, _):
                guard ledger.log.branch(of: previous.log, in: room.name) == .max else { break }
                ledger.fail(.nothingIsSkipped, "device \(number) has another log")
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
            for text in texts { ledger.replied(text, of: number, in: reader.room) }
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
}
