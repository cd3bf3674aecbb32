import MartletWire

/// The roles of a room in memory, and the operations that wait.
///
/// | state | owns | ends |
/// |---|---|---|
/// | not created | nothing | `saved`, when an account has created the room |
/// | settled | the roles | `save` |
/// | saving | the roles in effect, those that are saved, the cause of the change | `saved` |
///
/// | state of an operation | owns | ends |
/// |---|---|---|
/// | waiting | an entry in the queue | `next`, in its order |
/// | saving | the changed roles | `saved` |
/// | announced | the offset of its message | `takeAnnounced`, when the message is durable or discarded |
struct RoomModeration: Neutral, Sendable {
    static let neutral = RoomModeration()
    /// Operations of a room that wait, beyond which others are refused.
    static let maxWaitingCount = 64
    /// Bytes of a waiting operation, with objects, an announcement's content excluded.
    private static let operationByteCount = 256

    /// An operation that a member has requested.
    struct Pending: Sendable {
        /// The number of the request.
        let number: UInt64
        let actor: DeviceKey
        /// What the room policy permits to the device that requested it.
        var permissions: RoomPermissions
        let operation: RoomOperation
    }

    /// What has changed the roles.
    enum Cause: Sendable {
        case creation(JoinRequest)
        case operation(Pending)
    }

    private(set) var configuration = RoomRolesConfiguration()
    /// The roles in effect; nil if the room is not created.
    private(set) var roles: RoomRoles?
    private var saving: (roles: RoomRoles, cause: Cause)?
    private var waiting = Deque<Pending>()
    private var announced: [(offset: UInt64, operation: Pending)] = []

    /// Begins with the roles of the store; nil if nobody has created the room.
    init(_ configuration: RoomRolesConfiguration, _ roles: RoomRoles?) {
        self.configuration = configuration
        self.roles = roles
    }

    private init() {}

    /// Whether the store saves roles.
    var isSaving: Bool { saving != nil }

    /// Whether an operation waits or is saved.
    var isBusy: Bool { isSaving || !waiting.isEmpty }

    /// Bytes in memory, with objects.
    var byteCount: Int {
        (roles?.byteCount ?? 0) + (saving?.roles.byteCount ?? 0)
            + (waiting.count + announced.count) * Self.operationByteCount
    }

    // MARK: Operations

    /// Adds an operation; false if too many wait.
    mutating func append(_ operation: Pending) -> Bool {
        guard waiting.count < Self.maxWaitingCount else { return false }
        waiting.append(operation)
        return true
    }

    /// The room policy has decided anew about a device, whose waiting operations are decided by that.
    mutating func setPermissions(_ permissions: RoomPermissions, of actor: DeviceKey) {
        for index in waiting.indices where waiting[index].actor == actor { waiting[index].permissions = permissions }
    }

    /// Takes the next operation; nil while roles are saved, and when there is none.
    mutating func next() -> Pending? { isSaving ? nil : waiting.popFirst() }

    /// The changed roles go to the store.
    mutating func save(_ roles: RoomRoles, for cause: Cause) { saving = (roles, cause) }

    /// The store has answered: the saved roles are in effect. Returns the cause of the change.
    mutating func saved(_ isDurable: Bool) -> Cause? {
        guard let saving = saving.take() else { return nil }
        if isDurable { roles = saving.roles }
        return saving.cause
    }

    // MARK: Announcements

    /// An announcement has an offset and is not durable.
    mutating func announce(_ operation: Pending, at offset: UInt64) { announced.append((offset, operation)) }

    /// Takes the announcements up to an offset.
    mutating func takeAnnounced(upTo offset: UInt64) -> [Pending] {
        guard !announced.isEmpty else { return [] }
        let taken = announced.prefix { $0.offset <= offset }
        announced.removeFirst(taken.count)
        return taken.map(\.operation)
    }

    // MARK: Quiescence

    /// Checks that no operation waits.
    func check(_ check: inout QuiescenceCheck) {
        check.equal("saving roles", isSaving, false)
        check.empty("operations that wait", count: waiting.count)
        check.empty("announcements that are not durable", count: announced.count)
    }
}
