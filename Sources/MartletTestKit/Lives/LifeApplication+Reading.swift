import Martlet
import MartletProtocol
import MartletWire

/// The rooms of an application, and its iterations over them.
extension LifeApplication {
    /// Opens a room and receives its messages, until the client ends.
    func open(_ reader: LifeReader) async {
        guard let room = await openRoom(reader.room) else { return }
        rooms[reader.room] = room
        reader.begin()
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await self.answerRequests(in: room) }
            group.addTask { try? await self.call("snapshots") { for await _ in room.snapshots {} } }
            for handle in room.pending { group.addTask { await self.observe(handle, in: room) } }
            while await read(reader, in: room) {
                try? await world.sleep(for: isSettling ? .milliseconds(10) : duration(around: .seconds(5)))
            }
        }
    }

    private func openRoom(_ name: RoomName) async -> Room? {
        guard let client else { return nil }
        let waits = happens(perMille: 500)
        let options = Room.Options(waitsForRelay: waits)
        return try? await call("open", within: waits ? nil : .seconds(1)) {
            try await client.open(room: name, options: options)
        }
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

    /// Iterates once. Returns whether another iteration may follow.
    private func read(_ reader: LifeReader, in room: Room) async -> Bool {
        ledger.note(number, "iterates")
        let limit = isSettling ? Int.max : 1 + Int(random.next() % 30)
        do {
            switch plan.reading {
            case .deliveries: return try await call("deliveries") { try await readDeliveries(reader, room, limit) }
            case .messages: return try await call("messages") { try await readMessages(reader, room, limit) }
            case .items: return try await call("items") { try await readItems(reader, room, limit) }
            }
        } catch MartletError.Code.gaveUp {
            return true
        } catch {
            if !(error is CancellationError), error as? MartletError != .stopped {
                ledger.fail(.errorsAreDocumented, "device \(number): an iteration throws \(error)")
            }
            return false
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
            case .logReplaced: ledger.fail(.nothingIsSkipped, "device \(number) has another log")
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
            guard await acknowledge(delivery, replies, reader) else { return !isSettling || client != nil }
            replies = []
            if count >= limit { return true }
        }
        return false
    }

    /// The text of the reply to a message; nil if this application does not answer it.
    private func reply(to message: RoomMessage, in room: Room) -> String? {
        guard plan.replies, message.offset % 3 == 0, message.text?.hasPrefix("message") == true else { return nil }
        return "reply \(number) \(message.offset) \(room.name)"
    }

    /// Acknowledges a delivery; false if that fails.
    private func acknowledge(_ delivery: Room.Delivery, _ texts: [String], _ reader: LifeReader) async -> Bool {
        let offset = delivery.message.offset
        let before = reader.mayBeHandled
        reader.beginHandling(upTo: offset)
        let replies = texts.compactMap { try? OutgoingMessage(text: $0) }
        let limit: Duration? = replies.isEmpty ? .seconds(30) : nil
        let acknowledging = Task(executorPreference: world.scheduler) {
            _ = try await self.call("done", within: limit) { try await delivery.done(sending: replies) }
        }
        if !isSettling, happens(perMille: 50) {
            try? await world.sleep(for: duration(around: .milliseconds(100)))
            acknowledging.cancel()
        }
        do {
            try await acknowledging.value
            ledger.note(number, "acknowledges", offset)
            reader.endHandling(upTo: offset)
            for text in texts { ledger.replied(text) }
            return true
        } catch MartletError.Code.stopped {
            // The outbox has stored the cursor and the replies, or neither.
            return false
        } catch {
            reader.refuseHandling(upTo: offset, before: before)
            return false
        }
    }
}
