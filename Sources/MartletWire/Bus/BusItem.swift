/// What a relay reports to the other relays of its store, or requests of one of them.
package enum BusItem: Equatable, Sendable {
    /// The relay runs, or ends with this item.
    case beat(PeerRelay, isLast: Bool = false)
    /// The relay has members in these rooms, and asks for those of the other relays. At most ``maxRoomCount``.
    case wanted([RoomName])
    /// Members of the relay in a room.
    indirect case members(BusMembers)
    /// A typing or transient message of a member.
    indirect case transient(RoomName, Transient)
    /// A request of a member. Its correlation is a number of the relay.
    indirect case request(RoomName, Request)
    /// The answer to a request.
    indirect case response(RoomName, Response)
    /// The requester no longer needs the answer.
    case cancel(RoomName, CancelRequest)
    /// The relay has stored messages in a room with membership records.
    case changed(RoomName)
    /// The membership record of an account has changed.
    indirect case membership(BusMembership)
    /// A command of the administration, with a number of the relay.
    case command(UInt64, BusCommand)
    /// The relay has performed the command with a number of the recipient.
    case performed(UInt64)
    /// Messages that the relay has stored in a room.
    indirect case entries(BusEntries)
    /// Messages of a device that wait at the relay, and that a different relay is to append under other offsets. The
    /// counter is that of the message of the device before them; 0 if there is none.
    indirect case forwarded(BusEntries, after: UInt64)
    /// A device has begun a link at the relay, so that it has left the other relays.
    case linked(AccountName, DeviceID)

    /// The number of bytes of the content or the batch. Names and numbers are not counted.
    package var contentByteCount: Int {
        switch self {
        case .entries(let entries), .forwarded(let entries, _): entries.batch?.count ?? 0
        case .transient(_, let transient): if case .message(_, let bytes) = transient.content { bytes.count } else { 0 }
        case .request(_, let request): request.content?.count ?? 0
        case .response(_, let response): response.content?.count ?? 0
        default: 0
        }
    }

    /// The maximum number of rooms in `wanted`.
    package static let maxRoomCount = 24

    /// The number of the kind in front of the fields.
    fileprivate enum Kind: UInt8 {
        case beat = 1
        case wanted, members, wholeMembers, transient, request, response, cancel, changed, membership, kick, revoke
        case drain, performed, entries, forwarded, linked
    }

    fileprivate var kind: Kind {
        switch self {
        case .beat: .beat
        case .wanted: .wanted
        case .members(let members): members.isWhole ? .wholeMembers : .members
        case .transient: .transient
        case .request: .request
        case .response: .response
        case .cancel: .cancel
        case .changed: .changed
        case .membership: .membership
        case .command(_, .kick): .kick
        case .command(_, .revoke): .revoke
        case .command(_, .drain): .drain
        case .performed: .performed
        case .entries: .entries
        case .forwarded: .forwarded
        case .linked: .linked
        }
    }
}

/// Messages that a relay has stored in a room, or forwards.
package struct BusEntries: Equatable, Sendable {
    /// The room.
    package var room: RoomName
    /// The log of the offset.
    package var log: LogID
    /// The offset of the first message of the batch, or of the last message without a batch; at least 1.
    package var offset: UInt64
    /// The messages in the form of the store; nil if they are too long for a datagram.
    package var batch: [UInt8]?

    /// Creates the item.
    package init(room: RoomName, log: LogID, offset: UInt64, batch: [UInt8]?) {
        self.room = room
        self.log = log
        self.offset = offset
        self.batch = batch
    }
}

/// The members of a relay in a room: those that have changed, or all.
package struct BusMembers: Equatable, Sendable {
    /// The maximum number of entries.
    package static let maxEntryCount = 16

    /// The room.
    package var room: RoomName
    /// The log to which the offsets belong; nil without offsets.
    package var log: LogID?
    /// All members of the relay in the room.
    package var count: UInt32
    /// Whether the item, with those that follow it in the room, replaces earlier ones.
    package var isWhole: Bool
    /// Accounts, at most ``maxEntryCount``.
    package var entries: [BusMember]

    /// Creates the item.
    package init(room: RoomName, log: LogID? = nil, count: UInt32, isWhole: Bool, entries: [BusMember]) {
        self.room = room
        self.log = log
        self.count = count
        self.isWhole = isWhole
        self.entries = entries
    }
}

/// The presence of an account's members at a relay, and the account's progress.
package struct BusMember: Equatable, Sendable {
    /// The account.
    package var account: AccountName
    /// Its presence at the relay.
    package var presence: Transient.Presence
    /// The highest offset delivered to any of its devices; 0 if the item does not report it.
    package var delivered: UInt64
    /// The highest offset read on any of them; 0 if the item does not report it.
    package var read: UInt64
    /// The device that caused the progress; nil if there is none.
    package var device: DeviceID?

    /// Creates an entry.
    package init(
        _ account: AccountName, _ presence: Transient.Presence, delivered: UInt64 = 0, read: UInt64 = 0,
        device: DeviceID? = nil
    ) {
        self.account = account
        self.presence = presence
        self.delivered = delivered
        self.read = read
        self.device = device
    }
}

/// A changed membership record.
package struct BusMembership: Equatable, Sendable {
    /// The room.
    package var room: RoomName
    /// The account.
    package var account: AccountName
    /// The state of its record.
    package var state: RoomMembershipState
    /// The account that has invited it; nil if none has.
    package var inviter: AccountName?
    /// The time of the change, in milliseconds since 1970.
    package var changedAt: UInt64

    /// Creates the item.
    package init(
        room: RoomName, account: AccountName, state: RoomMembershipState, inviter: AccountName? = nil,
        changedAt: UInt64
    ) {
        self.room = room
        self.account = account
        self.state = state
        self.inviter = inviter
        self.changedAt = changedAt
    }
}

/// A command of the administration to the other relays of a store.
package enum BusCommand: Equatable, Sendable {
    /// End the links of an account.
    case kick(AccountName)
    /// End the links of an account, and refuse authentications in progress.
    case revoke(AccountName)
    /// Drain the relay with a name.
    case drain(String)
}

/// An item and the relay for which it is; nil for all.
package struct BusMessage: Equatable, Sendable {
    /// The relay that takes the item; nil for all.
    package var to: RelayID?
    /// The item.
    package var item: BusItem

    /// Creates a message.
    package init(_ item: BusItem, to: RelayID? = nil) {
        self.item = item
        self.to = to
    }
}

// MARK: - Bytes

extension BusMessage {
    /// Parses an item; nil for a kind that this version does not know, which is skipped.
    static func parse(_ bytes: RawSpan) throws(WireError) -> BusMessage? {
        guard bytes.byteCount > 0 else { throw .invalidValue(.item) }
        guard let kind = BusItem.Kind(rawValue: bytes.loadBigEndian(at: 0, as: UInt8.self)) else { return nil }
        let fields = try BusFields(bytes.extracting(droppingFirst: 1))
        return BusMessage(try fields.item(of: kind), to: fields.relay)
    }

    /// Appends the kind and the fields.
    func encode(into writer: inout TLVWriter) {
        writer.appendRaw(item.kind.rawValue)
        if let to { writer.append(.relay, uint64: to.rawValue) }
        switch item {
        case .beat(let peer, let isLast):
            writer.append(.data, bytes: peer.encode())
            if isLast { writer.append(.draining, uint8: 1) }
        case .wanted(let rooms):
            precondition(rooms.count <= BusItem.maxRoomCount, "too many rooms")
            for room in rooms { writer.append(.room, name: room) }
        case .members(let members): members.encode(into: &writer)
        case .transient(let room, let body): append(room, body, into: &writer)
        case .request(let room, let body): append(room, body, into: &writer)
        case .response(let room, let body): append(room, body, into: &writer)
        case .cancel(let room, let body): append(room, body, into: &writer)
        case .changed(let room): writer.append(.room, name: room)
        case .membership(let membership): membership.encode(into: &writer)
        case .command(let number, let command):
            writer.append(.correlation, uint64: number)
            switch command {
            case .kick(let account), .revoke(let account): writer.append(.account, name: account)
            case .drain(let name): writer.append(.name, string: name)
            }
        case .performed(let number): writer.append(.correlation, uint64: number)
        case .entries(let entries): entries.encode(into: &writer)
        case .forwarded(let entries, let counter):
            entries.encode(into: &writer)
            if counter > 0 { writer.append(.counter, uint64: counter) }
        case .linked(let account, let device):
            writer.append(.account, name: account)
            writer.append(.device, uint64: device.rawValue)
        }
    }

    private func append(_ room: RoomName, _ body: some FrameBody, into writer: inout TLVWriter) {
        writer.append(.room, name: room)
        writer.append(.data, bytes: body.encode())
    }
}

/// The fields of an item of any kind.
private struct BusFields {
    var relay: RelayID?
    private var rooms: [RoomName] = []
    private var log: LogID?
    private var count: UInt32?
    private var entries: [BusMember] = []
    private var body: [UInt8]?
    private var account: AccountName?
    private var device: DeviceID?
    private var inviter: AccountName?
    private var state: RoomMembershipState?
    private var changedAt: UInt64?
    private var number: UInt64?
    private var offset: UInt64?
    private var counter: UInt64?
    private var isLast: Bool?
    private var name: String?

    init(_ bytes: RawSpan) throws(WireError) {
        var reader = try TLVReader(wholeBody: bytes)
        while let field = try reader.next() {
            switch field.tag {
            case .relay: try relay.fill(.relay, RelayID(rawValue: field.uint64()))
            case .room: try rooms.append(field.name(), limit: BusItem.maxRoomCount)
            case .log: try log.fill(.log, LogID(rawValue: field.uint64()))
            case .memberCount: try count.fill(.memberCount, field.uint32())
            case .entry: try entries.append(BusMember(parsing: field.value), limit: BusMembers.maxEntryCount)
            case .data: try body.fill(.data, field.bytes())
            case .account: try account.fill(.account, field.name())
            case .device: try device.fill(.device, DeviceID(rawValue: field.uint64()))
            case .inviter: try inviter.fill(.inviter, field.name())
            case .membership: try state.fill(.membership, field.choice())
            case .changedAt: try changedAt.fill(.changedAt, field.uint64())
            case .correlation: try number.fill(.correlation, field.uint64())
            case .offset: try offset.fill(.offset, field.uint64())
            case .counter: try counter.fill(.counter, field.uint64())
            case .draining: try isLast.fill(.draining, field.bool())
            case .name: try name.fill(.name, field.string(minByteCount: 1, maxByteCount: 256))
            default: try field.skip()
            }
        }
    }

    private func room() throws(WireError) -> RoomName {
        guard rooms.count <= 1 else { throw .duplicateField(.room) }
        return try rooms.first.required(.room)
    }

    private func parsed<Body: FrameBody>() throws(WireError) -> Body {
        let bytes = try body.required(.data)
        return try Body(parsing: bytes.rawBytes)
    }

    private func messages() throws(WireError) -> BusEntries {
        let offset = try offset.required(.offset)
        guard 1..<UInt64(Int64.max) ~= offset else { throw .invalidValue(.offset) }
        return BusEntries(room: try room(), log: try log.required(.log), offset: offset, batch: body)
    }

    func item(of kind: BusItem.Kind) throws(WireError) -> BusItem {
        switch kind {
        case .beat:
            let bytes = try body.required(.data)
            return .beat(try PeerRelay(parsing: bytes.rawBytes), isLast: isLast ?? false)
        case .wanted: return .wanted(rooms)
        case .members, .wholeMembers:
            return .members(
                BusMembers(
                    room: try room(), log: log, count: try count.required(.memberCount),
                    isWhole: kind == .wholeMembers, entries: entries))
        case .transient:
            let transient: Transient = try parsed()
            guard transient.sender != nil else { throw .missingField(.sender) }
            return .transient(try room(), transient)
        case .request:
            let request: Request = try parsed()
            guard request.sender != nil else { throw .missingField(.sender) }
            guard request.recipient != nil else { throw .missingField(.recipient) }
            return .request(try room(), request)
        case .response: return .response(try room(), try parsed())
        case .cancel: return .cancel(try room(), try parsed())
        case .changed: return .changed(try room())
        case .membership:
            return .membership(
                BusMembership(
                    room: try room(), account: try account.required(.account), state: try state.required(.membership),
                    inviter: inviter, changedAt: try changedAt.required(.changedAt)))
        case .kick: return .command(try number.required(.correlation), .kick(try account.required(.account)))
        case .revoke: return .command(try number.required(.correlation), .revoke(try account.required(.account)))
        case .drain: return .command(try number.required(.correlation), .drain(try name.required(.name)))
        case .performed: return .performed(try number.required(.correlation))
        case .entries: return .entries(try messages())
        case .forwarded: return .forwarded(try messages(), after: counter ?? 0)
        case .linked: return .linked(try account.required(.account), try device.required(.device))
        }
    }
}

extension BusEntries {
    fileprivate func encode(into writer: inout TLVWriter) {
        writer.append(.room, name: room)
        writer.append(.log, uint64: log.rawValue)
        writer.append(.offset, uint64: offset)
        if let batch { writer.append(.data, bytes: batch) }
    }
}

extension BusMembers {
    fileprivate func encode(into writer: inout TLVWriter) {
        precondition(entries.count <= Self.maxEntryCount, "too many entries")
        writer.append(.room, name: room)
        if let log { writer.append(.log, uint64: log.rawValue) }
        writer.append(.memberCount, uint32: count)
        for entry in entries {
            var value = TLVWriter()
            entry.encode(into: &value)
            writer.append(.entry, bytes: value.rawBytes)
        }
    }
}

extension BusMember {
    fileprivate init(parsing bytes: RawSpan) throws(WireError) {
        var (account, presence): (AccountName?, Transient.Presence?)
        var (delivered, read, device): (UInt64?, UInt64?, DeviceID?)
        var reader = try TLVReader(wholeBody: bytes)
        while let field = try reader.next() {
            switch field.tag {
            case .account: try account.fill(.account, field.name())
            case .presence: try presence.fill(.presence, field.presence())
            case .deliveredUpTo: try delivered.fill(.deliveredUpTo, field.uint64())
            case .readUpTo: try read.fill(.readUpTo, field.uint64())
            case .device: try device.fill(.device, DeviceID(rawValue: field.uint64()))
            default: try field.skip()
            }
        }
        self.init(
            try account.required(.account), try presence.required(.presence), delivered: delivered ?? 0,
            read: read ?? 0, device: device)
    }

    fileprivate func encode(into writer: inout TLVWriter) {
        writer.append(.account, name: account)
        writer.append(.presence, uint8: presence.rawValue)
        if delivered > 0 { writer.append(.deliveredUpTo, uint64: delivered) }
        if read > 0 { writer.append(.readUpTo, uint64: read) }
        if let device { writer.append(.device, uint64: device.rawValue) }
    }
}

extension BusMembership {
    fileprivate func encode(into writer: inout TLVWriter) {
        writer.append(.room, name: room)
        writer.append(.account, name: account)
        writer.append(.membership, uint8: state.rawValue)
        if let inviter { writer.append(.inviter, name: inviter) }
        writer.append(.changedAt, uint64: changedAt)
    }
}
