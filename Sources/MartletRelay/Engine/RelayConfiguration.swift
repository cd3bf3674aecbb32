public import MartletLink
public import MartletWire

/// The bounds of a relay. Each has a default.
public struct RelayConfiguration: Sendable {
    /// The bounds of links and connections.
    public var link = LinkServerConfiguration()
    /// The maximum number of links of an account, with a connection or without. One more replaces the longest suspended
    /// link; when none is suspended, it is refused with `tooManyLinks` (C-64).
    public var maxLinksPerAccount = 64
    /// The maximum number of bytes of the relay's links, connections and rooms, objects counted, divided evenly over
    /// its loops. Beyond it they are evicted in the order of R-48, and new ones are refused. The store is not included.
    /// Less than 16 MiB for each loop is for tests only.
    public var memoryBudget = 1024 * 1024 * 1024
    /// Whether the room policy decides about each session. Otherwise every account may enter every room, with
    /// every permission. `Relay` sets it: it asks every policy except `allowAll`.
    public var asksRoomPolicy = false
    /// The duration of a question to the room policy. A session without an answer is reset with `serverBusy`.
    public var policyTimeout: Duration = .seconds(10)
    /// The maximum number of calls of the request handler in flight. The driver sets it.
    package var maxRequests = 1024
    /// The retention of the store. The driver sets it.
    package var retention = RoomRetention()
    /// The use of roles; nil if rooms have none. The store has to keep them.
    public var roomRoles: RoomRolesConfiguration?
    /// The account in whose name `Relay.publish` publishes at a relay without roles; no peer signs in as it. Nil
    /// if there is none. With roles it is `RoomRolesConfiguration.serverAccount`.
    public var serverAccount: AccountName?
    /// Whether the store keeps membership records, so that sessions of accounts are served. The driver sets it.
    package var keepsMemberships = false
    /// Whether other relays use the rooms of the store, too. The driver sets it.
    package var sharesRooms = false
    /// The bytes of a datagram of the bus between the relays of the store; nil without one. The driver sets it.
    package var busDatagramByteCount: Int?
    /// The duration after which a message is reported that was not delivered to accounts of its room, above zero. It is
    /// reported after one to two such durations, by scans that visit each record of the room and each of its messages
    /// in memory once.
    public var undeliveredDelay: Duration = .seconds(10)
    /// Whether undelivered messages are reported. The driver sets it.
    package var reportsUndelivered = false
    /// The rate of each account over all of its links; nil without a bound.
    public var accountRate: MessageRate?
    /// The rate of each room, of all its members together; nil without a bound.
    public var roomRate: MessageRate?
    /// The default configuration.
    public init() {}

    /// The account that the relay reserves for itself.
    var reservedAccount: AccountName? { roomRoles?.serverAccount ?? serverAccount }
}

/// An action that a relay's engine requests from its driver.
package enum RelayOutput: Sendable {
    /// An action for connections and links.
    case link(LinkServerOutput)
    /// Call a service of the application; the result is `completed`.
    indirect case call(RelayCallID, RelayCall)
    /// The room policy has not answered a question about this room in time, which counts as its failure.
    case policyOverdue(RoomName)
    /// Call the store; the results are `answered`, one for each question. The questions of the rooms of a turn are in
    /// one output, before the connections are written to.
    case store([StoreQuestion])
    /// Pass the reports of undelivered messages to their handler; there is no result.
    case undelivered([UndeliveredReport])
    /// Pass messages to the engine of another loop with `receive`, in their order.
    case send(loop: Int, [LoopMessage])
    /// Pass items to the bus, in their order, and whether items in front of them were lost.
    case bus([BusMessage], hasLost: Bool)
    /// A command of `RelayEngine.perform` has a result.
    indirect case commandEnded(UInt64, RoomCommandResult)
    /// An event for a log, and its connection.
    indirect case note(RelayNote, on: ConnectionKey?)
}

/// An event for the log of a relay.
public enum RelayNote: Equatable, Sendable {
    /// An event of a link or a connection.
    case link(LinkNote)
    /// The room policy, or the roles of the room, refused a device's session in a room.
    case roomRefused(DeviceKey, RoomName)
    /// A device has created a room, or was refused with the code.
    case roomCreated(DeviceKey, RoomName, ErrorCode)
    /// An operation on a room.
    case roomOperation(RoomOperationRecord)
    /// A request for the administration of the relay, which was performed or refused with the code.
    case administered(AdministrationRecord)
    /// The store has roles of a room that are not valid. The room cannot be opened.
    case rolesInvalid(RoomName, RoomRolesError)
}

/// Counts of a relay's objects and events.
package struct RelayStatistics: Equatable, Sendable {
    /// The past events of links and connections.
    package var server = LinkServerStatistics()
    /// Current connections.
    package var connections = 0
    /// Current links, with a connection or without.
    package var links = 0
    /// Current links without a connection.
    package var suspendedLinks = 0
    /// Rooms in memory.
    package var rooms = 0
    /// Messages made durable.
    package var messagesStored: UInt64 = 0
    /// Reports of undelivered messages that were passed to the handler.
    package var undeliveredReports: UInt64 = 0
    /// Reports of undelivered messages that were dropped, because too many waited.
    package var undeliveredReportsDropped: UInt64 = 0

    /// No objects and no events.
    package init() {}

    /// Accepted connections since the start.
    package var connectionsAccepted: UInt64 { server.connectionsAccepted }
    /// Connections closed at once since the start, because there were too many (C-11) or their address was refused
    /// (C-67).
    package var connectionsRefused: UInt64 { server.connectionsRefused }
    /// New links refused since the start, because the relay was near its limits.
    package var linksRefused: UInt64 { server.linksRefused }
    /// Resumes accepted.
    package var resumes: UInt64 { server.resumes }
    /// Resumes refused.
    package var resumesRefused: UInt64 { server.refusals[.resumeRejected] }
    /// Connections ended for a fault of the peer.
    package var faults: UInt64 { server.faults.total }

    /// The sum of two loops of one relay.
    package static func + (left: RelayStatistics, right: RelayStatistics) -> RelayStatistics {
        var sum = left
        sum.server += right.server
        sum.connections += right.connections
        sum.links += right.links
        sum.suspendedLinks += right.suspendedLinks
        sum.rooms += right.rooms
        sum.messagesStored += right.messagesStored
        sum.undeliveredReports += right.undeliveredReports
        sum.undeliveredReportsDropped += right.undeliveredReportsDropped
        return sum
    }
}
