import MartletLink
import MartletWire

/// The roles of a room in memory, and the operations that wait.
///
/// | state | owns | ends |
/// |---|---|---|
/// | not created | nothing | `saved`, when an account has created the room |
/// | settled | the roles, the instant from which on they may be saved again | `save` |
/// | saving | the roles in effect, those that are saved with their version, the cause of the change | `saved` |
/// | holding | the roles in effect, those of the store, the end of the log before them | `takeHeld`, when the room has these messages |
///
/// | state of an operation | owns | ends |
/// |---|---|---|
/// | waiting | an entry in the queue | `next`, in its order |
/// | saving | a place in the change of the roles, with other operations | `saved` |
/// | announced | the offset of its message | `takeAnnounced`, when the message is durable or discarded |
struct RoomModeration: ~Copyable, Neutral, Sendable {
    static let neutral = NeutralValue<RoomModeration>()
    /// Operations of a room that wait, those of all accounts, beyond which others are refused.
    static let maxWaitingCount = 64
    /// Operations of an account in a room that wait, beyond which others of it are refused.
    static let maxWaitingCountPerAccount = 8
    /// The minimum duration between the begins of two saves of longer roles than `shortByteCount`. Operations wait
    /// meanwhile (R-72, Specs/hostile.md row 66).
    static let saveInterval: Duration = .milliseconds(100)
    /// Bytes of roles that are saved without an interval.
    static let shortByteCount = 16 * 1024  // bound
    /// Bytes of roles in memory for which an operation costs one unit more.
    static let bytesPerUnit = 16 * 1024  // bound
    /// Bytes of a waiting operation, with objects, an announcement's content excluded.
    private static let operationByteCount = 256

    /// An operation that a member has requested.
    struct Pending: Sendable {
        /// The number of the request.
        let number: UInt64
        /// The session that requested it.
        let member: MemberKey
        let actor: DeviceKey
        /// What the room policy permits to the device that requested it.
        var permissions: RoomPermissions
        let operation: RoomOperation
        /// The request on an account's session that it answers; nil if a member has requested it.
        var call: MembershipCall?
        /// The command of the relay's application that it performs; nil if an account has requested it.
        var command: RoomCommandCall?

        /// Whether the operation can change the roles of a room. A command to remove an account changes them too.
        var changesRoles: Bool { operation.changesRoles || command != nil }
    }

    /// What has changed the roles.
    enum Cause: Sendable {
        case creation(JoinRequest)
        case operations([Decided])
    }

    /// An operation whose result depends on roles that are saved.
    struct Decided: Sendable {
        let operation: Pending
        /// Why it is not performed; nil if it is.
        let refusal: RoomRefusal?
    }

    /// Operations that are decided one after another, and whose changes are saved together.
    ///
    /// | state | owns | ends |
    /// |---|---|---|
    /// | empty | the roles in effect | an operation changes them |
    /// | changed | the changed roles, the operations since the first change | the roles are saved |
    struct Change {
        var roles: RoomRoles
        var operations: [Decided] = []

        /// Whether an operation can be decided by roles that are not saved. Each account is changed at most once in a
        /// change, so that every state of it takes effect.
        func takes(_ operation: RoomOperation) -> Bool {
            operations.isEmpty
                || operation.changesRoles && !operations.contains { $0.operation.operation.target == operation.target }
        }
    }

    private(set) var configuration = RoomRolesConfiguration()
    /// The roles in effect; nil if the room is not created.
    private(set) var roles: RoomRoles?
    /// The version of these roles in the store.
    private(set) var version: UInt64 = 0
    /// Roles that the store has. They take effect when the room has the messages of the log up to an offset.
    private var held: (roles: RoomRoles, version: UInt64, end: UInt64)?
    /// Roles that the store saves, and their version there.
    private var saving: (roles: RoomRoles, version: UInt64, cause: Cause)?
    private var waiting = Deque<Pending>()
    /// The instant from which on roles may be saved again.
    private var saveAt = Instant.zero
    private var announced: [(offset: UInt64, operation: Pending)] = []

    /// Begins with the roles of the store; nil if nobody has created the room.
    init(_ configuration: RoomRolesConfiguration, _ roles: RoomRoles?, version: UInt64) {
        self.configuration = configuration
        self.roles = roles
        self.version = version
    }

    init() {}

    /// Whether the store saves roles.
    var isSaving: Bool { saving != nil }

    /// Whether roles of the store have not taken effect.
    var isHolding: Bool { held != nil }

    /// The version of the latest roles, in effect or not.
    var knownVersion: UInt64 { held?.version ?? version }

    /// Whether an operation waits or is saved.
    var isBusy: Bool { isSaving || !waiting.isEmpty }

    /// Bytes in memory, with objects.
    var byteCount: Int {
        (roles?.byteCount ?? 0) + (saving?.roles.byteCount ?? 0) + (held?.roles.byteCount ?? 0)
            + (savingCount + waiting.count + announced.count) * Self.operationByteCount
    }

    /// The operations whose change is saved.
    private var savingCount: Int {
        if case .operations(let operations)? = saving?.cause { operations.count } else { 0 }
    }

    /// The units of an account's rate that an operation costs: more in a room with long roles.
    var operationUnits: Int { 1 + (roles?.byteCount ?? 0) / Self.bytesPerUnit }

    /// The instant at which the first operation can be performed; nil if none waits, or while roles are saved or held.
    var deadline: Instant? { isSaving || isHolding || waiting.isEmpty ? nil : saveAt }

    // MARK: Operations

    /// Adds an operation. Returns the reason if too many wait.
    mutating func append(_ operation: Pending) -> RoomRefusal? {
        guard waiting.count < Self.maxWaitingCount else { return .busy }
        let account = operation.actor.account
        let count = waiting.indices.count { waiting[$0].actor.account == account }
        guard operation.command != nil || count < Self.maxWaitingCountPerAccount else { return .tooManyOperations }
        waiting.append(operation)
        return nil
    }

    /// The room policy has decided anew about a device, whose waiting operations are decided by that.
    mutating func setPermissions(_ permissions: RoomPermissions, of actor: DeviceKey) {
        for index in waiting.indices where waiting[index].actor == actor { waiting[index].permissions = permissions }
    }

    /// Takes the next operation, unless it waits for the end of a change, for the next save, or for held roles.
    mutating func next(after change: Change, now: Instant) -> Pending? {
        guard !isSaving, !isHolding, let first = waiting.first, change.takes(first.operation),
            saveAt <= now || !first.changesRoles
        else { return nil }
        return waiting.popFirst()
    }

    /// The changed roles go to the store.
    ///
    /// - Parameter byteCount: bytes of their stored form.
    mutating func save(_ roles: RoomRoles, for cause: Cause, byteCount: Int = 0, now: Instant = .zero) {
        saving = (roles, version &+ 1, cause)
        saveAt = byteCount > Self.shortByteCount ? now + Self.saveInterval : .zero
    }

    /// The store has answered: the saved roles are in effect, unless it has reported them, or later ones, before.
    /// Returns the cause of the change.
    mutating func saved(_ isDurable: Bool) -> Cause? {
        guard let saving = saving.take() else { return nil }
        if isDurable, saving.version > version { (roles, version) = (saving.roles, saving.version) }
        return saving.cause
    }

    /// The store has other roles than those that the operations were decided by. They wait again, before the others.
    /// Returns whether later roles are not known yet.
    mutating func saveRefused() -> Bool {
        guard let saving = saving.take() else { return false }
        if case .operations(let decided) = saving.cause {
            waiting = Deque(decided.map(\.operation) + waiting.indices.map { waiting[$0] })
        }
        return knownVersion < saving.version
    }

    /// The store has roles, and had messages up to an offset before.
    mutating func hold(_ roles: RoomRoles, version: UInt64, upTo end: UInt64) { held = (roles, version, end) }

    /// The store had messages up to an offset when its roles had a version.
    mutating func noteEnd(_ offset: UInt64, ofVersion version: UInt64) {
        if let held, held.version <= version { self.held?.end = min(held.end, offset) }
    }

    /// The room has all messages of the log.
    mutating func endHold() { held?.end = 0 }

    /// The room has the messages up to an offset. Returns whether held roles take effect.
    mutating func takeHeld(upTo offset: UInt64) -> Bool {
        guard let held, held.end <= offset else { return false }
        self.held = nil
        (roles, version) = (held.roles, held.version)
        return true
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

    /// Announcements have other offsets, because other relays have appended messages before them.
    mutating func moveAnnounced(_ moved: [UInt64: UInt64]) {
        for index in announced.indices {
            if let offset = moved[announced[index].offset] { announced[index].offset = offset }
        }
    }

    // MARK: Quiescence

    /// Checks that no operation waits.
    func check(_ check: inout QuiescenceCheck) {
        check.equal("saving roles", isSaving, false)
        check.equal("roles that wait for messages", isHolding, false)
        check.empty("operations that wait", count: waiting.count)
        check.empty("announcements that are not durable", count: announced.count)
    }
}

extension RoomOperation {
    /// Whether the operation can change the roles of a room.
    var changesRoles: Bool {
        switch self {
        case .ban, .unban, .mute, .unmute, .invite, .setRole, .setAccess: true
        case .kick, .announce, .listRoles: false
        }
    }
}
