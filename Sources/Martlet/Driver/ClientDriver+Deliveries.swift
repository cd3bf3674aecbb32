import MartletLink
import MartletTransport
import MartletWire

/// The acknowledgements of deliveries.
extension ClientDriver {
    /// Stores the cursor and the replies of an acknowledgement in one transaction.
    func acknowledge(_ call: Acknowledgement, in room: RoomCore) {
        guard phase == .running else { return refuse([call], of: room, .stopped) }
        guard rooms[room.id] != nil else {
            guard call.replies.isEmpty else {
                return refuse(
                    [call], of: room, room.end?.error(of: room.name) ?? .roomClosed(nil, room: room.name))
            }
            return store(call, [], of: room)
        }
        rooms[room.id]!.waitingAcknowledgements.append(call)
        takeChanges(of: room)
    }

    /// Stores the waiting acknowledgements in order, up to the first whose replies exceed the space of the room.
    func admitAcknowledgements(of room: RoomCore) {
        while let call = rooms[room.id]?.waitingAcknowledgements.first {
            if let writer = outbox.port.writer {
                guard room.pass(call, to: writer) else { return }
                rooms[room.id]!.waitingAcknowledgements.removeFirst()
                writer.begin()
                continue
            }
            guard let (earlier, letters, replies) = room.takeReplies(of: call) else { return }
            rooms[room.id]!.waitingAcknowledgements.removeFirst()
            if !earlier.isEmpty { store(earlier, replacing: letters, of: room) }
            store(call, replies, of: room)
        }
    }

    /// Handles the cancellation of a call. It has no effect on a call whose replies are being stored.
    func abandonAcknowledgement(_ promise: Promise<[MessageHandle]>, in room: RoomCore) {
        guard let calls = rooms[room.id]?.waitingAcknowledgements,
            let index = calls.firstIndex(where: { $0.promise === promise })
        else { return }
        let call = rooms[room.id]!.waitingAcknowledgements.remove(at: index)
        room.acknowledged(upTo: call.cursor, isStored: false)
        promise.resolve(.failure(CancellationError()))
        takeChanges(of: room)
    }

    func refuse(_ calls: [Acknowledgement], of room: RoomCore, _ error: MartletError) {
        for call in calls {
            room.acknowledged(upTo: call.cursor, isStored: false)
            call.promise.resolve(.failure(error))
        }
    }

    private func store(_ call: Acknowledgement, _ replies: [MessageLedger.Pending], of room: RoomCore) {
        let isInFlight = engine.status.isOnline
        let wallClock = loop.wallTime
        let files = room.state.withLock { $0.files }
        var addition = OutboxWriter.Addition(
            room: room,
            entries: replies.map { OutboxEntry($0, in: room, files, isInFlight: isInFlight, now: wallClock) })
        addition.acknowledgement = call
        switch outbox.port {
        case .immediate(let outbox):
            var transaction = OutboxTransaction()
            transaction.appended = addition.entries
            transaction.cursors[room.name] = call.cursor
            outbox.commit(transaction)
            end(call, addition, nil)
        case .queued(let writer): writer.add { $0.additions.append(addition) }
        }
    }

    /// Reports the result of an acknowledgement. The credit of the messages is released after the acknowledgement is
    /// stored.
    func end(_ call: Acknowledgement, _ addition: OutboxWriter.Addition, _ failure: MartletError?) {
        let room = addition.room
        let byteCount = room.acknowledged(upTo: call.cursor, isStored: failure == nil)
        if let failure {
            room.stored(addition.entries.map(\.id.counter), failure)
            rooms.withSettledMessages.append(room.id)
            call.promise.resolve(.failure(failure))
            return
        }
        advanceCursor(of: room, to: call.cursor)
        if rooms[room.id] != nil {
            engine.consumed(room.id, byteCount: byteCount, upTo: call.cursor, now: now)
        }
        stored(addition.entries, of: room)
        call.promise.resolve(
            .success(addition.entries.map { MessageHandle(room: room, counter: $0.id.counter) }))
    }
}
