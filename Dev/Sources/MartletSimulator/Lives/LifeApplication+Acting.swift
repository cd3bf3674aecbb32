import Martlet
import MartletLink
import MartletRelay
import MartletTestKit
import MartletWire

/// The calls of an application beside those that receive.
extension LifeApplication {
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
        return open.isEmpty ? nil : open[Int(random.next() % UInt64(open.count))]
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
        case 68..<72: _ = try? await call("statistics", within: .seconds(1)) { await client.statistics }
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
        if LifeLog.text(of: message.content) == text { ledger.sending(text, from: number, in: room.name) }
        do {
            let handle = try await call("send") { try await submit(message, in: room) }
            queuedNow(text)
            ledger.note(text, .isStored, as: handle?.id)
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
            ledger.note(text, isKilled ? .mayBeStored : .isNotStored)
        }
    }

    /// Sends by the timeline, if there is one.
    func submit(_ message: OutgoingMessage, in room: Room) async throws -> MessageHandle? {
        guard let timeline else { return try await room.send(message) }
        return room.message(try await timeline.send(message, in: room.name))
    }

    /// A text, a change of one of the latest messages, or a command.
    private func message(_ text: String, _ timeToLive: Duration?, in room: RoomName) -> OutgoingMessage? {
        let latest = ledger.log[room].suffix(40)
        let target = latest.isEmpty ? nil : latest[latest.startIndex + Int(random.next() % UInt64(latest.count))]
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

    func markRead(_ name: RoomName) async {
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
            guard let text = LifeLog.text(of: letter.content) else { continue }
            if happens(perMille: 500) {
                ledger.retried(text)
                _ = try? await call("retry") { try await room.retry(letter) }
            } else {
                ledger.note(text, .mayBeStored)
                do {
                    try await call("discard") { try await room.discard(letter) }
                    ledger.note(text, .isNotStored)
                } catch {}
            }
        }
    }

    private func cancel(_ handle: MessageHandle, _ text: String) async {
        guard let isCancelled = try? await call("cancel", within: .seconds(1), { await handle.cancel() }) else {
            return
        }
        if isCancelled { ledger.note(text, .isCancelled) }
    }

    private func observeStates(of handle: MessageHandle, _ text: String) async {
        try? await call("states") {
            for await state in handle.states {
                ledger.note(number, "has a state")
                switch state {
                case .failed(.cancelled): ledger.note(text, .isCancelled)
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
            ledger.fail(.requestsAreAnswered, "device \(number) receives \(answer.text ?? "nothing")")
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
            if !isRight || ledger.log.entry(at: message.offset, in: room.name)?.id != message.id {
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
}
