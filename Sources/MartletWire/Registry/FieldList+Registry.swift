// Generated from Specs/registry.json by Scripts/generate-registries. Do not edit.

/// The content of a request for administration.
package struct AdministrationQuery: FieldList {
    /// The room.
    package let room: RoomName?
    /// The account.
    package let account: AccountName?
    /// The duration of a mute.
    package let duration: Duration?
    /// The text of an announcement.
    package let text: String?
    /// The bound on the age of a room's messages, in milliseconds; nil for that of the relay.
    package let maxAge: UInt64?
    /// The bound on the number of a room's messages; nil for that of the relay.
    package let maxCount: UInt64?
    /// The bound on the bytes of a room's messages; nil for that of the relay.
    package let maxByteCount: UInt64?
    /// The place at which the request continues, from the response to the previous one; nil at the beginning.
    package let next: UInt64?
    /// The room behind or in which the request continues, from the response to the previous one; nil at the beginning.
    package let nextRoom: RoomName?
    /// The maximum number of items or messages; nil for as many as a page has.
    package let limit: UInt16?
    /// The name of a relay of the same store; nil for the one that answers.
    package let name: String?

    /// Creates the content. `duration` is rounded down to seconds. `name` is truncated to 256 bytes.
    ///
    /// - Precondition: `limit` is at least 1.
    package init(
        room: RoomName? = nil, account: AccountName? = nil, duration: Duration? = nil, text: String? = nil,
        maxAge: UInt64? = nil, maxCount: UInt64? = nil, maxByteCount: UInt64? = nil, next: UInt64? = nil,
        nextRoom: RoomName? = nil, limit: UInt16? = nil, name: String? = nil
    ) {
        precondition(limit.map { (1...).contains($0) } ?? true, "limit is at least 1")
        self.room = room
        self.account = account
        self.duration = duration?.roundedDown(to: .seconds)
        self.text = text
        self.maxAge = maxAge
        self.maxCount = maxCount
        self.maxByteCount = maxByteCount
        self.next = next
        self.nextRoom = nextRoom
        self.limit = limit
        self.name = name?.clipped(toByteCount: 256)
    }

    /// Creates the content from its fields.
    ///
    /// - Throws: The errors of ``FieldList/init(parsing:)``.
    package init(parsing body: RawSpan) throws(WireError) {
        var room: RoomName?
        var account: AccountName?
        var duration: Duration?
        var text: String?
        var maxAge: UInt64?
        var maxCount: UInt64?
        var maxByteCount: UInt64?
        var next: UInt64?
        var nextRoom: RoomName?
        var limit: UInt16?
        var name: String?
        var reader = try TLVReader(wholeBody: body)
        while let field = try reader.next() {
            switch field.tag {
            case .room: try room.fill(.room, field.name())
            case .account: try account.fill(.account, field.name())
            case .duration: try duration.fill(.duration, field.duration(.seconds))
            case .text: try text.fill(.text, field.string(maxByteCount: .max))
            case .maxAge: try maxAge.fill(.maxAge, field.uint64())
            case .maxCount: try maxCount.fill(.maxCount, field.uint64())
            case .maxByteCount: try maxByteCount.fill(.maxByteCount, field.uint64())
            case .next: try next.fill(.next, field.uint64())
            case .nextRoom: try nextRoom.fill(.nextRoom, field.name())
            case .limit: try limit.fill(.limit, field.uint16().within(1...UInt16.max, .limit))
            case .name: try name.fill(.name, field.string(maxByteCount: 256))
            default: try field.skip()
            }
        }
        self.room = room
        self.account = account
        self.duration = duration
        self.text = text
        self.maxAge = maxAge
        self.maxCount = maxCount
        self.maxByteCount = maxByteCount
        self.next = next
        self.nextRoom = nextRoom
        self.limit = limit
        self.name = name
    }

    /// Appends the fields.
    package func encode(into writer: inout TLVWriter) {
        if let room { writer.append(.room, name: room) }
        if let account { writer.append(.account, name: account) }
        if let duration { writer.append(.duration, duration: duration, .seconds) }
        if let text { writer.append(.text, string: text) }
        if let maxAge { writer.append(.maxAge, uint64: maxAge) }
        if let maxCount { writer.append(.maxCount, uint64: maxCount) }
        if let maxByteCount { writer.append(.maxByteCount, uint64: maxByteCount) }
        if let next { writer.append(.next, uint64: next) }
        if let nextRoom { writer.append(.nextRoom, name: nextRoom) }
        if let limit { writer.append(.limit, uint16: limit) }
        if let name { writer.append(.name, string: name) }
    }
}

/// The content of the response to a request for administration: the items or messages of a page, or what a step
/// has changed.
package struct AdministrationPage: FieldList {
    /// The maximum number of elements of `items`.
    package static let maxItemCount = 32
    /// The maximum number of elements of `messages`.
    package static let maxMessageCount = 256

    /// The fields of the items, at most 32.
    package let items: [[UInt8]]
    /// The bodies of messages with the relay's fields, at most 256.
    package let messages: [[UInt8]]
    /// The number of rooms or messages that the step has changed.
    package let count: UInt32?
    /// The place at which the next request continues; nil after the last page or step, unless there is a next room.
    package let next: UInt64?
    /// The room behind or in which the next request continues; nil after the last page or step, unless there is a next
    /// place.
    package let nextRoom: RoomName?

    /// Creates the content.
    ///
    /// - Precondition: `items` has at most ``maxItemCount`` elements. `messages` has at most ``maxMessageCount``
    ///   elements.
    package init(
        items: [[UInt8]] = [], messages: [[UInt8]] = [], count: UInt32? = nil, next: UInt64? = nil,
        nextRoom: RoomName? = nil
    ) {
        precondition(items.count <= Self.maxItemCount, "items has at most maxItemCount elements")
        precondition(messages.count <= Self.maxMessageCount, "messages has at most maxMessageCount elements")
        self.items = items
        self.messages = messages
        self.count = count
        self.next = next
        self.nextRoom = nextRoom
    }

    /// Creates the content from its fields.
    ///
    /// - Throws: The errors of ``FieldList/init(parsing:)``.
    package init(parsing body: RawSpan) throws(WireError) {
        var items: [[UInt8]] = []
        var messages: [[UInt8]] = []
        var count: UInt32?
        var next: UInt64?
        var nextRoom: RoomName?
        var reader = try TLVReader(wholeBody: body)
        while let field = try reader.next() {
            switch field.tag {
            case .item: try items.append(field.bytes(), limit: Self.maxItemCount)
            case .message: try messages.append(field.bytes(), limit: Self.maxMessageCount)
            case .count: try count.fill(.count, field.uint32())
            case .next: try next.fill(.next, field.uint64())
            case .nextRoom: try nextRoom.fill(.nextRoom, field.name())
            default: try field.skip()
            }
        }
        self.items = items
        self.messages = messages
        self.count = count
        self.next = next
        self.nextRoom = nextRoom
    }

    /// Appends the fields.
    package func encode(into writer: inout TLVWriter) {
        for item in items { writer.append(.item, bytes: item) }
        for item in messages { writer.append(.message, bytes: item) }
        if let count { writer.append(.count, uint32: count) }
        if let next { writer.append(.next, uint64: next) }
        if let nextRoom { writer.append(.nextRoom, name: nextRoom) }
    }
}

/// The state of a relay.
public struct RelayOverview: FieldList {
    /// The start of the relay, in milliseconds since 1970.
    public let since: UInt64
    /// The current connections.
    public let connectionCount: UInt32
    /// The current links, with a connection or without.
    public let linkCount: UInt32
    /// The rooms in memory.
    public let roomCount: UInt32
    /// The messages that were made durable since the start.
    public let messageCount: UInt64
    /// The memory of connections, links and rooms, in bytes, objects counted.
    public let memoryByteCount: UInt64

    /// Creates the content.
    public init(
        since: UInt64, connectionCount: UInt32, linkCount: UInt32, roomCount: UInt32, messageCount: UInt64,
        memoryByteCount: UInt64
    ) {
        self.since = since
        self.connectionCount = connectionCount
        self.linkCount = linkCount
        self.roomCount = roomCount
        self.messageCount = messageCount
        self.memoryByteCount = memoryByteCount
    }

    /// Creates the content from its fields.
    ///
    /// - Throws: The errors of ``FieldList/init(parsing:)``.
    package init(parsing body: RawSpan) throws(WireError) {
        var since: UInt64?
        var connectionCount: UInt32?
        var linkCount: UInt32?
        var roomCount: UInt32?
        var messageCount: UInt64?
        var memoryByteCount: UInt64?
        var reader = try TLVReader(wholeBody: body)
        while let field = try reader.next() {
            switch field.tag {
            case .since: try since.fill(.since, field.uint64())
            case .connectionCount: try connectionCount.fill(.connectionCount, field.uint32())
            case .linkCount: try linkCount.fill(.linkCount, field.uint32())
            case .roomCount: try roomCount.fill(.roomCount, field.uint32())
            case .messageCount: try messageCount.fill(.messageCount, field.uint64())
            case .memoryByteCount: try memoryByteCount.fill(.memoryByteCount, field.uint64())
            default: try field.skip()
            }
        }
        self.since = try since.required(.since)
        self.connectionCount = try connectionCount.required(.connectionCount)
        self.linkCount = try linkCount.required(.linkCount)
        self.roomCount = try roomCount.required(.roomCount)
        self.messageCount = try messageCount.required(.messageCount)
        self.memoryByteCount = try memoryByteCount.required(.memoryByteCount)
    }

    /// Appends the fields.
    package func encode(into writer: inout TLVWriter) {
        writer.append(.since, uint64: since)
        writer.append(.connectionCount, uint32: connectionCount)
        writer.append(.linkCount, uint32: linkCount)
        writer.append(.roomCount, uint32: roomCount)
        writer.append(.messageCount, uint64: messageCount)
        writer.append(.memoryByteCount, uint64: memoryByteCount)
    }
}

/// A link of a relay.
public struct LinkOverview: FieldList {
    /// The account.
    public let account: AccountName
    /// The device.
    public let device: DeviceID
    /// The name of the program, as its hello on this connection states it; nil if it is unknown.
    public let agent: String?
    /// The address of the peer; nil while the link has no connection.
    public let address: String?
    /// The begin of the connection, in milliseconds since 1970; nil while the link has no connection.
    public let since: UInt64?
    /// The smoothed round-trip time, in whole microseconds; nil if it is unknown.
    public let roundTrip: Duration?
    /// The bytes of frames that the device has not acknowledged.
    public let queuedByteCount: UInt64
    /// The sessions of the link.
    public let sessionCount: UInt32

    /// Creates the content. `agent` is truncated to 128 bytes. `address` is truncated to 64 bytes. `roundTrip` is
    /// rounded down to microseconds.
    public init(
        account: AccountName, device: DeviceID, agent: String? = nil, address: String? = nil, since: UInt64? = nil,
        roundTrip: Duration? = nil, queuedByteCount: UInt64, sessionCount: UInt32
    ) {
        self.account = account
        self.device = device
        self.agent = agent?.clipped(toByteCount: 128)
        self.address = address?.clipped(toByteCount: 64)
        self.since = since
        self.roundTrip = roundTrip?.roundedDown(to: .microseconds)
        self.queuedByteCount = queuedByteCount
        self.sessionCount = sessionCount
    }

    /// Creates the content from its fields.
    ///
    /// - Throws: The errors of ``FieldList/init(parsing:)``.
    package init(parsing body: RawSpan) throws(WireError) {
        var account: AccountName?
        var device: DeviceID?
        var agent: String?
        var address: String?
        var since: UInt64?
        var roundTrip: Duration?
        var queuedByteCount: UInt64?
        var sessionCount: UInt32?
        var reader = try TLVReader(wholeBody: body)
        while let field = try reader.next() {
            switch field.tag {
            case .account: try account.fill(.account, field.name())
            case .device: try device.fill(.device, DeviceID(rawValue: field.uint64()))
            case .agent: try agent.fill(.agent, field.string(maxByteCount: 128))
            case .address: try address.fill(.address, field.string(maxByteCount: 64))
            case .since: try since.fill(.since, field.uint64())
            case .roundTrip: try roundTrip.fill(.roundTrip, field.duration(.microseconds))
            case .queuedByteCount: try queuedByteCount.fill(.queuedByteCount, field.uint64())
            case .sessionCount: try sessionCount.fill(.sessionCount, field.uint32())
            default: try field.skip()
            }
        }
        self.account = try account.required(.account)
        self.device = try device.required(.device)
        self.agent = agent
        self.address = address
        self.since = since
        self.roundTrip = roundTrip
        self.queuedByteCount = try queuedByteCount.required(.queuedByteCount)
        self.sessionCount = try sessionCount.required(.sessionCount)
    }

    /// Appends the fields.
    package func encode(into writer: inout TLVWriter) {
        writer.append(.account, name: account)
        writer.append(.device, uint64: device.rawValue)
        if let agent { writer.append(.agent, string: agent) }
        if let address { writer.append(.address, string: address) }
        if let since { writer.append(.since, uint64: since) }
        if let roundTrip { writer.append(.roundTrip, duration: roundTrip, .microseconds) }
        writer.append(.queuedByteCount, uint64: queuedByteCount)
        writer.append(.sessionCount, uint32: sessionCount)
    }
}

/// An account with links at a relay.
public struct AccountOverview: FieldList {
    /// The account.
    public let account: AccountName
    /// The links of the account, with a connection or without.
    public let linkCount: UInt32
    /// The sessions of all links.
    public let sessionCount: UInt32

    /// Creates the content.
    public init(account: AccountName, linkCount: UInt32, sessionCount: UInt32) {
        self.account = account
        self.linkCount = linkCount
        self.sessionCount = sessionCount
    }

    /// Creates the content from its fields.
    ///
    /// - Throws: The errors of ``FieldList/init(parsing:)``.
    package init(parsing body: RawSpan) throws(WireError) {
        var account: AccountName?
        var linkCount: UInt32?
        var sessionCount: UInt32?
        var reader = try TLVReader(wholeBody: body)
        while let field = try reader.next() {
            switch field.tag {
            case .account: try account.fill(.account, field.name())
            case .linkCount: try linkCount.fill(.linkCount, field.uint32())
            case .sessionCount: try sessionCount.fill(.sessionCount, field.uint32())
            default: try field.skip()
            }
        }
        self.account = try account.required(.account)
        self.linkCount = try linkCount.required(.linkCount)
        self.sessionCount = try sessionCount.required(.sessionCount)
    }

    /// Appends the fields.
    package func encode(into writer: inout TLVWriter) {
        writer.append(.account, name: account)
        writer.append(.linkCount, uint32: linkCount)
        writer.append(.sessionCount, uint32: sessionCount)
    }
}

/// A room of a relay.
public struct RoomOverview: FieldList {
    /// The room.
    public let room: RoomName
    /// The members.
    public let memberCount: UInt32
    /// The identity of the log; nil while the room is loaded.
    public let log: LogID?
    /// The highest offset of the log; 0 if it is empty.
    public let head: UInt64
    /// The lowest offset that is kept.
    public let first: UInt64
    /// The memory of the room, in bytes, objects counted.
    public let memoryByteCount: UInt64
    /// The accounts with a role, a ban or a mute; nil without roles, and in a page.
    public let roleCount: UInt32?
    /// Which accounts may enter; nil without roles, and in a page.
    public let access: RoomAccess?
    /// The bound on the age of messages, in milliseconds; nil without one, and in a page.
    public let maxAge: UInt64?
    /// The bound on the number of messages; nil without one, and in a page.
    public let maxCount: UInt64?
    /// The bound on the bytes of messages; nil without one, and in a page.
    public let maxByteCount: UInt64?

    /// Creates the content.
    public init(
        room: RoomName, memberCount: UInt32, log: LogID? = nil, head: UInt64, first: UInt64, memoryByteCount: UInt64,
        roleCount: UInt32? = nil, access: RoomAccess? = nil, maxAge: UInt64? = nil, maxCount: UInt64? = nil,
        maxByteCount: UInt64? = nil
    ) {
        self.room = room
        self.memberCount = memberCount
        self.log = log
        self.head = head
        self.first = first
        self.memoryByteCount = memoryByteCount
        self.roleCount = roleCount
        self.access = access
        self.maxAge = maxAge
        self.maxCount = maxCount
        self.maxByteCount = maxByteCount
    }

    /// Creates the content from its fields.
    ///
    /// - Throws: The errors of ``FieldList/init(parsing:)``.
    package init(parsing body: RawSpan) throws(WireError) {
        var room: RoomName?
        var memberCount: UInt32?
        var log: LogID?
        var head: UInt64?
        var first: UInt64?
        var memoryByteCount: UInt64?
        var roleCount: UInt32?
        var access: RoomAccess?
        var maxAge: UInt64?
        var maxCount: UInt64?
        var maxByteCount: UInt64?
        var reader = try TLVReader(wholeBody: body)
        while let field = try reader.next() {
            switch field.tag {
            case .room: try room.fill(.room, field.name())
            case .memberCount: try memberCount.fill(.memberCount, field.uint32())
            case .log: try log.fill(.log, LogID(rawValue: field.uint64()))
            case .head: try head.fill(.head, field.uint64())
            case .first: try first.fill(.first, field.uint64())
            case .memoryByteCount: try memoryByteCount.fill(.memoryByteCount, field.uint64())
            case .roleCount: try roleCount.fill(.roleCount, field.uint32())
            case .access: try access.fill(.access, field.choice())
            case .maxAge: try maxAge.fill(.maxAge, field.uint64())
            case .maxCount: try maxCount.fill(.maxCount, field.uint64())
            case .maxByteCount: try maxByteCount.fill(.maxByteCount, field.uint64())
            default: try field.skip()
            }
        }
        self.room = try room.required(.room)
        self.memberCount = try memberCount.required(.memberCount)
        self.log = log
        self.head = try head.required(.head)
        self.first = try first.required(.first)
        self.memoryByteCount = try memoryByteCount.required(.memoryByteCount)
        self.roleCount = roleCount
        self.access = access
        self.maxAge = maxAge
        self.maxCount = maxCount
        self.maxByteCount = maxByteCount
    }

    /// Appends the fields.
    package func encode(into writer: inout TLVWriter) {
        writer.append(.room, name: room)
        writer.append(.memberCount, uint32: memberCount)
        if let log { writer.append(.log, uint64: log.rawValue) }
        writer.append(.head, uint64: head)
        writer.append(.first, uint64: first)
        writer.append(.memoryByteCount, uint64: memoryByteCount)
        if let roleCount { writer.append(.roleCount, uint32: roleCount) }
        if let access { writer.append(.access, uint8: access.rawValue) }
        if let maxAge { writer.append(.maxAge, uint64: maxAge) }
        if let maxCount { writer.append(.maxCount, uint64: maxCount) }
        if let maxByteCount { writer.append(.maxByteCount, uint64: maxByteCount) }
    }
}

/// A relay of the same store, as its last beat describes it.
public struct PeerRelay: FieldList {
    /// The identity of the relay's process.
    public let relay: RelayID
    /// The name of the relay in its configuration.
    public let name: String
    /// The name and version of its program.
    public let agent: String
    /// Its current links, with a connection or without.
    public let linkCount: UInt32
    /// Its rooms in memory.
    public let roomCount: UInt32
    /// Whether it drains.
    public let isDraining: Bool
    /// Its clock, in milliseconds since 1970.
    public let relayClock: UInt64
    /// The time at which it was heard last, in milliseconds since 1970 by the clock of the relay that answers; nil in a
    /// beat.
    public let lastHeardAt: UInt64?

    /// Creates the content. `name` is truncated to 256 bytes. `agent` is truncated to 128 bytes.
    public init(
        relay: RelayID, name: String, agent: String, linkCount: UInt32, roomCount: UInt32, isDraining: Bool,
        relayClock: UInt64, lastHeardAt: UInt64? = nil
    ) {
        self.relay = relay
        self.name = name.clipped(toByteCount: 256)
        self.agent = agent.clipped(toByteCount: 128)
        self.linkCount = linkCount
        self.roomCount = roomCount
        self.isDraining = isDraining
        self.relayClock = relayClock
        self.lastHeardAt = lastHeardAt
    }

    /// Creates the content from its fields.
    ///
    /// - Throws: The errors of ``FieldList/init(parsing:)``.
    package init(parsing body: RawSpan) throws(WireError) {
        var relay: RelayID?
        var name: String?
        var agent: String?
        var linkCount: UInt32?
        var roomCount: UInt32?
        var isDraining: Bool?
        var relayClock: UInt64?
        var lastHeardAt: UInt64?
        var reader = try TLVReader(wholeBody: body)
        while let field = try reader.next() {
            switch field.tag {
            case .relay: try relay.fill(.relay, RelayID(rawValue: field.uint64()))
            case .name: try name.fill(.name, field.string(maxByteCount: 256))
            case .agent: try agent.fill(.agent, field.string(maxByteCount: 128))
            case .linkCount: try linkCount.fill(.linkCount, field.uint32())
            case .roomCount: try roomCount.fill(.roomCount, field.uint32())
            case .draining: try isDraining.fill(.draining, field.bool())
            case .relayClock: try relayClock.fill(.relayClock, field.uint64())
            case .lastHeardAt: try lastHeardAt.fill(.lastHeardAt, field.uint64())
            default: try field.skip()
            }
        }
        self.relay = try relay.required(.relay)
        self.name = try name.required(.name)
        self.agent = try agent.required(.agent)
        self.linkCount = try linkCount.required(.linkCount)
        self.roomCount = try roomCount.required(.roomCount)
        self.isDraining = try isDraining.required(.draining)
        self.relayClock = try relayClock.required(.relayClock)
        self.lastHeardAt = lastHeardAt
    }

    /// Appends the fields.
    package func encode(into writer: inout TLVWriter) {
        writer.append(.relay, uint64: relay.rawValue)
        writer.append(.name, string: name)
        writer.append(.agent, string: agent)
        writer.append(.linkCount, uint32: linkCount)
        writer.append(.roomCount, uint32: roomCount)
        writer.append(.draining, uint8: isDraining ? 1 : 0)
        writer.append(.relayClock, uint64: relayClock)
        if let lastHeardAt { writer.append(.lastHeardAt, uint64: lastHeardAt) }
    }
}
