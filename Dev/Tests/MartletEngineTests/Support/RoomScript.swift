import MartletTestSupport
import MartletWire
import Testing

@testable import MartletLink
@testable import MartletRelay

/// Rooms without links. Events name members, and effects are comparable values.
///
/// A name is an account with its first device; "alice/2" is another device of the account alice. An append completes
/// with `store` or `failStore`.
struct RoomScript: ~Copyable {
    /// An effect of the rooms, with parsed frames.
    enum Effect: Equatable {
        case opened(String, head: UInt64, first: UInt64, members: [String])
        case reset(String, ErrorCode)
        case closed(String)
        case sent(String, Frame)
        case sentTransient(String, Frame)
        case released(String, Int)
        case load(String)
        case append([UInt64])
        case saveProgress([String: AccountProgress])
        case saveRetention(RoomRetention)
        case saveRoles(isCreation: Bool)
        case charged(String, Int)
        case commandEnded(UInt64, RoomCommandResult)
        case noted(RelayNote)
        case read(String, from: UInt64)
        case readHistory(String, request: UInt64, ClosedRange<UInt64>)
        case asked(String, Request)
        case saveMemberships([String: RoomMembershipState])
        case answered(String, ErrorCode)
        case changed([String])
        case watched(String)
        case attachment(String, AttachmentCall)
        case undelivered([UndeliveredReport])
        case erased(String, [MessageErasure])
        case bus(BusItem, to: RelayID?)
    }

    var rooms: Rooms
    /// The roles that were to be saved last.
    private(set) var savedRoles: RoomRoles?
    private(set) var handles: [String: MemberHandle] = [:]
    private(set) var log: [LogEntry] = []
    private(set) var keys: [String: MemberKey] = [:]
    private var names: [MemberKey: String] = [:]
    private var appending: [LogEntry] = []
    /// The erasures of the append that is in progress, or was last.
    private(set) var appendingErasures: [MessageErasure] = []
    /// Members whose links have a backlog.
    var behind: Set<String> = []
    let room = RoomName.lobby
    var now = Instant(nanoseconds: 1_000_000_000)

    /// Creates a room with these members and discards the effects.
    init(
        _ members: String..., snapshot: RoomSnapshot? = RoomSnapshot(), roles: RoomRolesConfiguration? = nil,
        undeliveredDelay: Duration? = nil, busItemByteCount: Int? = nil, isShared: Bool = false
    ) {
        rooms = Rooms(
            isShared: isShared, roles: roles, undeliveredDelay: undeliveredDelay, busItemByteCount: busItemByteCount)
        for member in members { join(member) }
        if let snapshot { rooms.loaded(room, snapshot) }
        _ = drain()
    }

    /// Roles of more than 16 KiB, of a room that alice owns.
    static func longRoles() throws -> RoomRoles {
        var roles = RoomRoles(owner: .alice)
        for number in 0..<600 {
            let account = AccountName.named("an account with a long name \(number)")
            roles = try roles.applying(.invite(account), by: .owner, at: 0) ?? roles
        }
        return roles
    }

    static func who(_ name: String) -> DeviceKey {
        let parts = name.split(separator: "/")
        let device = parts.count > 1 ? UInt64(parts[1]) ?? 0 : 1
        guard let account = AccountName(String(parts[0])) else { preconditionFailure("not an account: \(name)") }
        return DeviceKey(account: account, device: DeviceID(rawValue: device))
    }

    // MARK: Events

    mutating func join(
        _ name: String, cursor: UInt64 = 0, tail: UInt32? = nil, noLocal: Bool = false, room: RoomName? = nil,
        log: LogID? = nil, isBacklogged: Bool = false, kind: SessionKind = .chat, permissions: RoomPermissions = .all
    ) {
        let slot = Int32(keys.count)
        let key = MemberKey(link: LinkKey(slot: slot, generation: 1), session: SessionID(rawValue: 1))
        keys[name] = key
        names[key] = name
        let open = Open(room: room ?? self.room, kind: kind, cursor: cursor, log: log, tail: tail, noLocal: noLocal)
        rooms.receive(
            .join(
                JoinRequest(
                    member: key, who: RoomScript.who(name), open: open, isBacklogged: isBacklogged,
                    permissions: permissions)))
    }

    mutating func withdraw(_ name: String) {
        if let key = keys[name] { rooms.receive(.withdraw(key, from: room)) }
    }

    mutating func post(_ name: String, _ counter: UInt64, byteCount: Int = 1) {
        let body = RoomScript.body(counter, byteCount)
        with(name) {
            let message = ClientMessage(counter: counter, body: body.rawBytes, layout: .text)
            $0.publish($1, message, acceptedAt: 1000 &+ counter)
        }
    }

    /// Publishes a message with any body.
    mutating func post(_ name: String, _ counter: UInt64, _ body: MessageBody) throws {
        post(name, counter, try body.content)
    }

    mutating func post(_ name: String, _ counter: UInt64, _ content: MessageContent) {
        let bytes = Message(counter: counter, content: content).encode()
        with(name) {
            let message = ClientMessage(counter: counter, body: bytes.rawBytes, layout: .unknown)
            $0.publish($1, message, acceptedAt: 1000 &+ counter)
        }
    }

    private static func body(_ counter: UInt64, _ byteCount: Int) -> [UInt8] {
        let content = Message.textContent(String(repeating: "x", count: byteCount))
        return Message.encodeClient(counter: counter, kind: .text, content: content)
    }

    /// The credit of a text with this number of bytes.
    static func credit(_ byteCount: Int) -> Int { body(1, byteCount).count }

    func with(_ name: String) -> MemberHandle? { handles[name] }

    mutating func with(_ name: String, _ event: (inout Rooms, MemberHandle) -> Void) {
        guard let handle = handles[name] else {
            Issue.record("\(name) is no member")
            return
        }
        event(&rooms, handle)
    }

    /// Completes the last append, up to an offset if one is given.
    mutating func store(upTo offset: UInt64? = nil) {
        let end = offset ?? appending.last?.offset ?? 0
        log += appending.filter { $0.offset <= end }
        for erasure in appendingErasures {
            for index in log.indices { log[index] = erasure.erased(log[index]) ?? log[index] }
        }
        appending = []
        rooms.stored(room, upTo: end)
    }

    mutating func failStore() {
        appending = []
        rooms.stored(room, upTo: nil)
    }

    /// Publishes and stores messages of one member, and discards the effects.
    mutating func fill(_ name: String, _ counters: ClosedRange<UInt64>, byteCount: Int = 1) {
        for counter in counters { post(name, counter, byteCount: byteCount) }
        _ = drain()
        store()
        _ = drain()
    }

    /// Completes a member's read; without offsets it fails.
    mutating func read(_ name: String, _ offsets: ClosedRange<UInt64>?, first: UInt64 = 1) {
        let entries = offsets.map { range in log.filter { range.contains($0.offset) } }
        with(name) { $0.read(ReadID(member: $1), entries, first: first) }
    }

    /// Completes a read for a member's request; without offsets it fails.
    mutating func read(_ name: String, request: UInt64, _ offsets: ClosedRange<UInt64>?, first: UInt64 = 1) {
        let entries = offsets.map { range in log.filter { range.contains($0.offset) } }
        with(name) { $0.read(ReadID(member: $1, request: request), entries, first: first) }
    }

    mutating func readNothing(_ name: String, first: UInt64) {
        with(name) { $0.read(ReadID(member: $1), [], first: first) }
    }

    // MARK: Effects

    /// The effects since the last call, in order.
    mutating func drain() -> [Effect] {
        var effects: [Effect] = []
        repeat { effects += drainTurn() } while goesOn()
        return effects
    }

    /// The effects of this turn.
    mutating func drainTurn() -> [Effect] {
        var effects: [Effect] = []
        while let effect = rooms.nextEffect(now: now) {
            if case .deliver(let key, let entries) = effect {
                effects += entries.map { .sent(name(key), frame(.data, $0.body)) }
            } else if case .pending(let key) = effect {
                // A link without a backlog has space at once.
                if let handle = handles[name(key)], !behind.contains(name(key)) { rooms.receive(.sendPending(handle)) }
            } else if case .refuse(let key, let counter, let code, let byteCount) = effect {
                let receipt = Receipt.refused(Receipt.Refusal(counter: counter, code: code))
                effects.append(.released(name(key), byteCount))
                effects.append(.sent(name(key), frame(.receipt, EncodedBody(receipt.encode()))))
            } else if case .waitsForCredit = effect {
                // The link probes for credit.
            } else if case .store(.changes) = effect {
                // The comparison with the store has no answer.
            } else {
                effects.append(note(effect))
            }
        }
        return effects
    }

    /// Ends the turn. Returns whether the next one has work at once.
    private mutating func goesOn() -> Bool {
        rooms.endTurn()
        guard let deadline = rooms.deadline, deadline <= now else { return false }
        rooms.deadlinePassed(now: now)
        return true
    }

    private mutating func note(_ effect: RoomEffect) -> Effect {
        switch effect {
        case .opened(let key, let handle, let opened):
            handles[name(key)] = handle
            return .opened(
                name(key), head: opened.head, first: opened.first, members: opened.members.map(\.text))
        case .reset(let key, let code, _): return .reset(name(key), code)
        case .closed(let key): return .closed(name(key))
        case .send(let key, let type, let body): return .sent(name(key), frame(type, body))
        case .deliver, .pending, .waitsForCredit, .refuse: preconditionFailure("handled before")
        case .sendTransient(let key, let body): return .sentTransient(name(key), frame(.transient, body))
        case .release(let key, let byteCount): return .released(name(key), byteCount)
        case .store(let question): return note(question)
        case .charge(let key, let units): return .charged(name(key), units)
        case .answered(let key, let response): return .answered(name(key), response.status)
        case .changed(_, _, let changes, _): return .changed(changes.map(\.account.text))
        case .watched(_, let account, _): return .watched(account.text)
        case .bus(let message): return .bus(message.item, to: message.to)
        case .commandEnded(let id, let result): return .commandEnded(id, result)
        case .note(let note, _): return .noted(note)
        case .request(_, let handle, let request): return .asked(name(handle.key), request)
        case .attachment(let id, let call): return .attachment(name(id.session.key), call)
        case .undelivered(let reports): return .undelivered(reports)
        case .erased(let key, let erasures): return .erased(name(key), erasures)
        }
    }

    private mutating func note(_ question: StoreQuestion) -> Effect {
        switch question {
        case .load(let room): return .load(room.text)
        case .append(let append):
            appending = append.entries
            appendingErasures = append.erasures
            return .append(append.entries.map(\.offset))
        case .saveProgress(_, let progress):
            return .saveProgress(Dictionary(uniqueKeysWithValues: progress.map { ($0.key.text, $0.value) }))
        case .saveRoles(_, let bytes, _, let creation):
            savedRoles = try? RoomRoles(decoding: bytes)
            return .saveRoles(isCreation: creation != nil)
        case .saveMemberships(_, let changes):
            return .saveMemberships(
                Dictionary(uniqueKeysWithValues: changes.map { ($0.key.text, $0.value?.state ?? .none) }))
        case .read(_, let id, let range):
            let name = name(id.member.key)
            guard let request = id.request else { return .read(name, from: range.from) }
            return .readHistory(name, request: request, range.from...range.from + UInt64(range.maxCount) - 1)
        case .saveRetention(_, let bounds): return .saveRetention(bounds)
        case .readMemberships, .touch, .changes: preconditionFailure("no question of a room")
        }
    }

    private func name(_ key: MemberKey) -> String { names[key] ?? "?" }

    private func frame(_ type: FrameType, _ body: EncodedBody) -> Frame {
        let bytes = body.bytes
        do {
            return try Frame.parse(type: type, body: bytes.rawBytes)
        } catch {
            Issue.record("a room sent an invalid body: \(error)")
            return .unknown(type)
        }
    }
}

extension Rooms {
    /// A member's link has another connection. All earlier reports of presence have arrived.
    mutating func reconnect(_ handle: MemberHandle) {
        receive(.reconnected(handle, lastReceived: .distantFuture))
    }

    /// A member's link loses its connection, or has a new connection.
    mutating func setAway(_ isAway: Bool, _ handle: MemberHandle) {
        if isAway { receive(.disconnected(handle)) } else { reconnect(handle) }
    }
}

extension [RoomScript.Effect] {
    /// The offsets of messages sent to a member, in order.
    func offsets(to name: String) -> [UInt64] {
        compactMap { if case .sent(name, .message(let message)) = $0 { message.relay?.offset } else { nil } }
    }

    /// The reports of undelivered messages.
    var reports: [UndeliveredReport] {
        compactMap { if case .undelivered(let reports) = $0 { reports } else { nil } }.flatMap(\.self)
    }

    /// The accepted runs sent to a member.
    func accepted(by name: String) -> [AcceptedRun] {
        compactMap { if case .sent(name, .accepted(let accepted)) = $0 { accepted.runs } else { nil } }.flatMap(\.self)
    }

    func about(_ name: String) -> [RoomScript.Effect] {
        filter {
            switch $0 {
            case .opened(name, _, _, _), .reset(name, _), .closed(name), .sent(name, _), .sentTransient(name, _),
                .released(name, _),
                .read(name, _), .readHistory(name, _, _), .asked(name, _):
                true
            default: false
            }
        }
    }
}
