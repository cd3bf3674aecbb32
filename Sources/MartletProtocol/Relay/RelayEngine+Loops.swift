import MartletWire

/// What has to do with the relay's other loops: rooms that live there, links whose sessions are members here, and
/// connections that begin on one and belong to another.
extension RelayEngine {
    /// What another loop tells this one.
    public mutating func receive(_ messages: [LoopMessage], now: Instant) {
        for message in messages {
            switch message {
            case .call(let call): rooms.take(call, now: now)
            case .effect(let effect): apply(effect, now: now)
            }
        }
    }

    /// Takes out a connection that is to be handed over; nil when it is gone.
    public mutating func transfer(_ key: ConnectionKey) -> DepartingConnection? {
        guard let slot = slot(key), connections[slot].entry?.admission != nil else { return nil }
        let connection = connections[slot]
        forget(slot)
        return DepartingConnection(connection: connection)
    }

    /// Goes on with a connection that another loop has handed over; nil when there are too many and it is to be closed
    /// at once (C-11).
    public mutating func adopt(_ departing: DepartingConnection, now: Instant) -> ConnectionKey? {
        guard counted.connections < configuration.maxConnections, let entry = departing.connection.entry,
            let admission = entry.admission
        else { return nil }
        entry.admission = nil
        generation &+= 1
        var connection = departing.connection
        connection.move(generation: generation)
        let slot = connections.insert(connection)
        let key = key(slot)
        counted.connections += 1
        if let drainNotice {
            say(.reject, drainNotice, on: slot, now: now)
        } else {
            finishHandshake(slot, entry, admission, now: now)
        }
        return key
    }

    // MARK: Rooms, wherever they live

    mutating func call(_ call: RoomCall, now: Instant = .zero) {
        let loop = loop(of: call)
        if loop == place.index { rooms.take(call, now: now) } else { departing[loop].append(.call(call)) }
    }

    mutating func post(_ handle: MemberHandle, _ message: ClientMessage) {
        guard handle.loop != place.number else { return rooms.post(handle, message, acceptedAt: wallClock) }
        var body = TLVWriter(reserving: message.byteCount)
        message.encode(into: &body)
        call(
            .post(
                handle, counter: message.counter, body: body.bytes, layout: message.layout, acceptedAt: wallClock))
    }

    mutating func credit(_ handle: MemberHandle, byteCount: Int) {
        guard handle.loop != place.number else { return rooms.credit(handle, byteCount: byteCount) }
        call(.credit(handle, byteCount: byteCount))
    }

    private func loop(of call: RoomCall) -> Int {
        switch call {
        case .join(let request): place.loop(of: request.open.room)
        case .withdraw(_, let room): place.loop(of: room)
        case .leave(let handle), .close(let handle), .setSuspended(let handle, _, _), .setHeldBack(let handle, _),
            .setFeatures(let handle, _), .setAway(let handle, _), .tell(let handle), .post(let handle, _, _, _, _),
            .credit(let handle, _), .progressed(let handle, _), .whisper(let handle, _), .request(let handle, _),
            .respond(let handle, _), .cancel(let handle, _):
            Int(handle.loop)
        }
    }

    // MARK: Links, wherever they live

    /// Whether an effect is for a link of another loop; then it goes there.
    mutating func departs(_ effect: RoomEffect) -> Bool {
        guard place.count > 1, let loop = effect.member?.link.loop, loop != place.number else { return false }
        departing[Int(loop)].append(.effect(effect))
        return true
    }

    /// What is to be told to one of the other loops.
    mutating func nextDeparture() -> RelayOutput? {
        guard place.count > 1, let loop = departing.firstIndex(where: { !$0.isEmpty }) else { return nil }
        let messages = departing[loop]
        departing[loop] = []
        return .tell(loop: loop, messages)
    }
}

/// A connection on its way from one loop's engine to another's, with all that is known of it.
public struct DepartingConnection: @unchecked Sendable {  // the engine that took it out has forgotten it
    fileprivate let connection: RelayConnection
}

/// Who a connection is, once that has been proven.
struct Admission {
    var hello: Hello
    var account: AccountName
    var grant: TokenGrant
    /// Of the token that was presented for a resume.
    var presented: TokenDigest?
}

extension RoomEffect {
    /// The session that it is for.
    fileprivate var member: MemberKey? {
        switch self {
        case .opened(let key, _, _), .reset(let key, _), .closed(let key), .send(let key, _, _), .deliver(let key, _),
            .sendTransient(let key, _), .news(let key), .release(let key, _):
            key
        case .load, .append, .read, .request: nil
        }
    }
}
