package import MartletLink
package import MartletWire

/// The rooms of this loop, and the messages to the rooms and links of other loops.
///
/// A call for a room is passed to the loop of the room, an effect of a room to the loop of the member's link. Messages
/// for another loop are kept until the end of the turn.
struct RoomRouter: ~Copyable {
    var local: Rooms
    let place: LoopPlace
    /// The messages for other loops, by loop.
    private var outgoing: [[LoopMessage]]

    init(place: LoopPlace, _ configuration: RelayConfiguration) {
        self.place = place
        local = Rooms(
            place: place, isShared: configuration.sharesRooms, roles: configuration.roomRoles,
            rate: configuration.roomRate,
            undeliveredDelay: configuration.reportsUndelivered ? configuration.undeliveredDelay : nil,
            busItemByteCount: configuration.busDatagramByteCount)
        outgoing = Array(repeating: [], count: place.count)
    }

    /// The number of messages for other loops.
    var outgoingCount: Int { outgoing.reduce(0) { $0 + $1.count } }

    /// Passes a link's event to a room of any loop.
    mutating func call(_ call: RoomCall, now: Instant = .zero) {
        let loop = call.loop(place)
        if loop == place.index { local.receive(call, now: now) } else { outgoing[loop].append(.call(call)) }
    }

    /// Passes a message to its room. The bytes of the message are borrowed, so another loop gets a copy.
    mutating func publish(_ handle: MemberHandle, _ message: ClientMessage, acceptedAt: UInt64) {
        guard handle.loop != place.number else { return local.publish(handle, message, acceptedAt: acceptedAt) }
        var body = TLVWriter(reserving: message.byteCount)
        message.encode(into: &body)
        call(
            .publish(
                handle, counter: message.counter, body: body.bytes, layout: message.layout, acceptedAt: acceptedAt))
    }

    /// Passes a member's credit to its room.
    mutating func credit(_ handle: MemberHandle, byteCount: Int) {
        guard handle.loop != place.number else { return local.credit(handle, byteCount: byteCount) }
        call(.credit(handle, byteCount: byteCount))
    }

    /// Queues an effect for a link of another loop; false for every other effect.
    mutating func forward(_ effect: RoomEffect) -> Bool {
        guard place.count > 1, let loop = effect.loop, loop != place.index else { return false }
        outgoing[loop].append(.effect(effect))
        return true
    }

    /// The messages for one of the other loops; nil when there are none.
    mutating func nextOutgoing() -> RelayOutput? {
        guard place.count > 1, let loop = outgoing.firstIndex(where: { !$0.isEmpty }) else { return nil }
        let messages = outgoing[loop]
        outgoing[loop] = []
        return .send(loop: loop, messages)
    }
}

extension RoomCall {
    /// The loop of the room.
    fileprivate func loop(_ place: LoopPlace) -> Int {
        switch self {
        case .join(let request): place.loop(of: request.open.room)
        case .withdraw(_, let room): place.loop(of: room)
        case .membership(let call): place.loop(of: call.room)
        case .watch(let call): call.loop
        case .command(let call): place.loop(of: call.room)
        case .leave(let handle), .close(let handle), .setSuspended(let handle, _, _), .setBacklogged(let handle, _),
            .setFeatures(let handle, _), .disconnected(let handle), .reconnected(let handle, _),
            .setPermissions(let handle, _), .sendPending(let handle), .publish(let handle, _, _, _, _),
            .credit(let handle, _), .progressed(let handle, _),
            .broadcast(let handle, _), .request(let handle, _), .attachment(let handle, _, _, _),
            .respond(let handle, _), .cancel(let handle, _):
            Int(handle.loop)
        }
    }
}

extension RoomEffect {
    /// The loop of the link or the account that the effect concerns; nil if it concerns the room only.
    fileprivate var loop: Int? {
        switch self {
        case .changed(let loop, _, _, _), .watched(let loop, _, _): loop
        default: member.map { Int($0.link.loop) }
        }
    }

    /// The member whose link performs the effect.
    private var member: MemberKey? {
        switch self {
        case .opened(let key, _, _), .reset(let key, _, _), .closed(let key), .send(let key, _, _),
            .deliver(let key, _), .erased(let key, _), .sendTransient(let key, _), .pending(let key),
            .waitsForCredit(let key, _), .release(let key, _), .refuse(let key, _, _, _),
            .charge(let key, _), .answered(let key, _):
            key
        case .note(_, let key): key
        case .store, .request, .attachment, .changed, .watched, .undelivered, .bus, .commandEnded:
            nil
        }
    }
}

extension LoopPlace {
    /// The loop of a room, which gives its log one order without a lock.
    package func loop(of room: RoomName) -> Int { loop(ofName: room.text) }
}
