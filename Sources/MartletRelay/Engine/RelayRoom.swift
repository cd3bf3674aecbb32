package import MartletLink
package import MartletWire

/// An external action of a room: a frame of a session, or a call of the store.
package enum RoomEffect: Sendable {
    /// The session is a member.
    indirect case opened(MemberKey, handle: MemberHandle, Opened)
    /// The room refuses or ends the session. It admits another session from the instant on (S-64).
    case reset(MemberKey, ErrorCode, until: Instant? = nil)
    /// All acceptances of a session that its peer has closed were sent.
    case closed(MemberKey)
    /// A reliable frame for a session.
    case send(MemberKey, FrameType, EncodedBody)
    /// Messages for a session, in their order.
    case deliver(MemberKey, ArraySlice<LogEntry>)
    /// Messages are erased that a session may have queued.
    case erased(MemberKey, [MessageErasure])
    /// A transient frame for a session.
    case sendTransient(MemberKey, EncodedBody)
    /// Receipts, cancels or presence are pending for a session; its link requests them with `RoomCall.sendPending`
    ///
    case pending(MemberKey)
    /// Whether more messages follow when the session has credit.
    case waitsForCredit(MemberKey, Bool)
    /// The credit of a publisher's messages is released.
    case release(MemberKey, byteCount: Int)
    /// A publisher's message is refused, and its credit is released.
    case refuse(MemberKey, counter: UInt64, ErrorCode, byteCount: Int)
    /// Call the store; the result is `answered`.
    case store(StoreQuestion)
    /// A request without a recipient.
    indirect case request(RoomName, MemberHandle, Request)
    /// The member's account has requested an operation on the room, which costs this many units of its rate.
    case charge(MemberKey, units: Int)
    /// The answer to a request on an account's session, with the request's number as its correlation.
    indirect case answered(MemberKey, Response)
    /// A room has changed for accounts of one loop, among others by erasures.
    indirect case changed(loop: Int, RoomName, [RoomChange], erased: [MessageErasure] = [])
    /// The rooms of one loop are watched for an account of another loop.
    case watched(loop: Int, AccountName, by: Int)
    /// Accounts that have joined the room have not received its messages.
    case undelivered([UndeliveredReport])
    /// Call the attachment store; the result is `Rooms.attachmentAnswered`.
    indirect case attachment(AttachmentCallID, AttachmentCall)
    /// An item for the other relays of the bus.
    indirect case bus(BusMessage)
    /// A command of the relay's application has a result.
    indirect case commandEnded(UInt64, RoomCommandResult)
    /// An event for a log, and the member whose peer it concerns.
    indirect case note(RelayNote, of: MemberKey?)
}

/// A range of a log to read.
public struct ReadRange: Equatable, Sendable {
    /// The first offset.
    public var from: UInt64
    /// The maximum number of messages.
    public var maxCount: Int
    /// The maximum number of bytes of bodies; one message of any length is read.
    public var maxByteCount: Int
    /// The log; nil for the current one. A `shared` store that has another log fails with `logLost`.
    public var log: LogID?

    /// A range that begins at `from`.
    public init(from: UInt64, maxCount: Int, maxByteCount: Int, log: LogID? = nil) {
        self.from = from
        self.maxCount = maxCount
        self.maxByteCount = maxByteCount
        self.log = log
    }
}

/// A read of a room's log, for a lagging member or for a member's request.
package struct ReadID: Hashable, Sendable {
    /// The member.
    var member: MemberHandle
    /// The number of the request in the room; nil for messages that are delivered.
    var request: UInt64?
    /// The number of erasures in the room before the read.
    var erasureCount: UInt64 = 0

    /// The loop of the room.
    package var loop: UInt8 { member.loop }
}

/// A member's slot in a room, which finds the member without a search. A handle of an earlier use of the slot finds
/// nothing.
package struct MemberHandle: Hashable, Sendable {
    var room: Int32
    var slot: Int32
    var key: MemberKey
    /// The loop of the room.
    package var loop: UInt8 = 0
}

/// A numbered log of messages and its members.
///
/// | state | owns | ends |
/// |---|---|---|
/// | loading | the joins that wait for the store's snapshot, or for the creation of the room | `loaded`, `rolesSaved`; `loadFailed`, then the room is evicted |
/// | ready | the log, the members, messages on their way to the store | idle, then the room is evicted; `logLost` |
///
/// A message is published, appended to the batch with its offset, stored, confirmed to its publisher and delivered to
/// the members, in this order: nothing is confirmed or delivered that a crash could revert.
///
/// `RoomLog` has the durable messages, `Publication` the others, `RoomMembers` the members and their presence,
/// `RoomReceipts` progress and pending changes, `RoomRequests` the open requests, `HistoryReads` those for pages of
/// history, `RoomAttachments` the sessions of kind attachment, `DeduplicationWindows` the counters of devices,
/// `RoomThrottle` the rate, and `RoomModeration` the roles.
struct RelayRoom: ~Copyable, Sendable {
    enum State: Sendable {
        case loading([JoinRequest])
        case ready
    }

    let name: RoomName
    private let index: Int32
    private let loop: UInt8
    var isDirty = false
    var state = State.loading([])
    var log = RoomLog()
    var members = RoomMembers()
    var windows = DeduplicationWindows()
    var receipts = RoomReceipts()
    var requests = RoomRequests()
    var history = HistoryReads()
    var replica = RoomReplica()
    /// The instant at which unsaved progress is passed to the store; nil when there is none.
    private var saveDeadline: Instant?
    /// The bytes that the table of rooms counts for the room.
    private(set) var chargedByteCount = 0
    /// Allocated while messages are not durable or are in memory.
    private var allocatedPublication = OnDemand<Publication>()
    /// Allocated from a message until the burst is complete again, if rooms have a rate.
    var throttle = OnDemand<RoomThrottle>()
    /// Allocated from a refused append, or from messages of a different relay, until one relay only publishes.
    var forwarding = OnDemand<AppendForwarding>()
    /// Allocated while the room has membership records, or requests about them wait.
    private(set) var allocatedMemberships = OnDemand<RoomMemberships>()
    /// Whether accounts watch the room.
    var isWatched = false
    /// Allocated while accounts watch the room.
    private(set) var allocatedChanges = OnDemand<RoomChanges>()
    /// Allocated while stored messages of this relay wait for a scan, if the relay reports undelivered messages.
    private var allocatedScan = OnDemand<UndeliveredScan>()
    /// Allocated when the room is loaded, if the relay keeps roles.
    private(set) var allocatedModeration = OnDemand<RoomModeration>()

    /// The room's own bounds, which the store keeps.
    private(set) var retention = RoomRetention()

    /// Allocated while commands of the relay's application have no result.
    private var allocatedCommands = OnDemand<RoomCommands>()
    /// Allocated while the room has sessions of kind attachment, or calls of their store.
    private var allocatedAttachments = OnDemand<RoomAttachments>()

    var attachments: RoomAttachments {
        @inline(__always) unsafeAddress { unsafe allocatedAttachments.address() }
        @inline(__always) unsafeMutableAddress { unsafe allocatedAttachments.mutableAddress() }
    }

    /// Whether there are sessions of kind attachment, or calls of their store.
    var usesAttachments: Bool { allocatedAttachments.isAllocated }

    /// Releases the memory for attachments, unless it is in use.
    mutating func releaseIdleAttachments() {
        if usesAttachments, attachments.isIdle { allocatedAttachments.release() }
    }

    /// Whether commands of the relay's application have no result.
    var hasCommands: Bool { allocatedCommands.isAllocated }

    var commands: RoomCommands {
        @inline(__always) unsafeAddress { unsafe allocatedCommands.address() }
        @inline(__always) unsafeMutableAddress { unsafe allocatedCommands.mutableAddress() }
    }

    /// Releases the memory for commands, unless it is in use.
    mutating func releaseIdleCommands() {
        if hasCommands, commands.isEmpty { allocatedCommands.release() }
    }

    var publication: Publication {
        @inline(__always) unsafeAddress { unsafe allocatedPublication.address() }
        @inline(__always) unsafeMutableAddress { unsafe allocatedPublication.mutableAddress() }
    }

    var moderation: RoomModeration {
        @inline(__always) unsafeAddress { unsafe allocatedModeration.address() }
        @inline(__always) unsafeMutableAddress { unsafe allocatedModeration.mutableAddress() }
    }

    var memberships: RoomMemberships {
        @inline(__always) unsafeAddress { unsafe allocatedMemberships.address() }
        @inline(__always) unsafeMutableAddress { unsafe allocatedMemberships.mutableAddress() }
    }

    var changes: RoomChanges {
        @inline(__always) unsafeAddress { unsafe allocatedChanges.address() }
        @inline(__always) unsafeMutableAddress { unsafe allocatedChanges.mutableAddress() }
    }

    var scan: UndeliveredScan {
        @inline(__always) unsafeAddress { unsafe allocatedScan.address() }
        @inline(__always) unsafeMutableAddress { unsafe allocatedScan.mutableAddress() }
    }

    /// Whether messages wait for a scan, until which the room stays in memory.
    @inline(__always)
    var isScanScheduled: Bool { allocatedScan.isAllocated }

    /// Releases the memory of the scan, for which no messages wait.
    mutating func releaseScan() { allocatedScan.release() }

    /// Releases the memory of membership records, of which there is none.
    mutating func releaseMemberships() { allocatedMemberships.release() }

    /// Releases the memory of changes, which no account watches.
    mutating func releaseChanges() { allocatedChanges.release() }

    /// Whether there is memory for messages that are not durable.
    var isBusy: Bool { allocatedPublication.isAllocated }

    init(name: RoomName, index: Int32, loop: UInt8 = 0) {
        self.name = name
        self.index = index
        self.loop = loop
    }

    /// Whether the room can be evicted.
    @inline(__always)
    var isIdle: Bool {
        guard case .ready = state else { return false }
        return members.count == 0 && !publication.isWaiting && !isModerating && !throttle.isAllocated
            && !isChangingMemberships && !usesAttachments && !isScanScheduled && !hasCommands
            && replica.joins.isEmpty && !replica.isBusy
    }

    /// The instant at which the room has work although no event occurs.
    var deadline: Instant? {
        requests.deadline.orEarlier(members.deadline).orEarlier(saveDeadline).orEarlier(operationsDeadline)
            .orEarlier(throttle.isAllocated ? throttle.value.deadline : nil).orEarlier(changesDeadline)
            .orEarlier(isScanScheduled ? scan.deadline : nil).orEarlier(readDeadline).orEarlier(forwardingDeadline)
    }

    func handle(_ slot: Int) -> MemberHandle {
        MemberHandle(room: index, slot: Int32(slot), key: members[slot].key, loop: loop)
    }

    /// The publisher of announcements, which is no member.
    var relayHandle: MemberHandle { handle(ofNoMember: 0) }

    /// The publisher of messages that other relays have forwarded, which is no member.
    var forwarderHandle: MemberHandle { handle(ofNoMember: 1) }

    private func handle(ofNoMember number: UInt32) -> MemberHandle {
        let link = LinkKey(slot: -1, generation: number, loop: loop)
        return MemberHandle(room: index, slot: -1, key: MemberKey(link: link, session: .control), loop: loop)
    }

    /// The answer to an `open` of a device that names a log.
    func opened(naming named: LogID? = nil, to device: DeviceKey? = nil) -> Opened {
        let counter = device.flatMap { windows[$0] }.map { windows[$0].watermark } ?? 0
        return Opened(
            head: log.lastOffset, first: log.firstOffset, log: log.id, upTo: log.branch(of: named),
            counter: counter > 0 ? counter : nil, members: members.presentAccounts())
    }

    // MARK: Loading

    /// The store's snapshot. Returns the sessions that have waited to join.
    ///
    /// - Parameter now: the relay's wall clock in milliseconds since 1970.
    mutating func loaded(_ snapshot: RoomSnapshot, at now: UInt64 = 0) -> [JoinRequest] {
        guard case .loading(let joins) = state else { return [] }
        state = .ready
        log = RoomLog(snapshot)
        retention = snapshot.retention
        for (device, record) in snapshot.devices { windows.load(device, record) }
        receipts = RoomReceipts(snapshot.progress, lastOffset: snapshot.lastOffset)
        if isWatched { changes.begin(at: log.lastOffset) }
        return joins
    }

    /// The store has made the room's own bounds durable; nil if it has not.
    mutating func retentionSaved(_ bounds: RoomRetention?, into effects: inout Deque<RoomEffect>) {
        if let bounds { retention = bounds }
        commandSaved(isDone: bounds != nil, into: &effects)
    }

    mutating func loadFailed(into effects: inout Deque<RoomEffect>) {
        guard case .loading(let joins) = state else { return }
        for join in joins { effects.append(.reset(join.member, .storeUnavailable)) }
        state = .loading([])
    }

    /// The calls of the store whose answers the room awaits, apart from reads of members.
    var storeCalls: [RemovedRooms.Call] {
        var calls: [RemovedRooms.Call] = []
        if case .loading = state, !isUncreated { calls.append(.load) }
        if isBusy, publication.isStoring { calls.append(.append) }
        if replica.isReading { calls.append(.read) }
        if replica.isLoading { calls.append(.load) }
        if usesRoles, moderation.isSaving { calls.append(.saveRoles) }
        if allocatedMemberships.isAllocated, memberships.isSaving { calls.append(.saveMemberships) }
        if hasCommands { calls += Array(repeating: .saveRetention, count: commands.savingCount) }
        return calls
    }

    /// A session has ended before the room was loaded.
    mutating func withdraw(_ key: MemberKey) {
        guard case .loading(let joins) = state else { return replica.withdraw(key) }
        state = .loading(joins.filter { $0.member != key })
    }

    // MARK: Members

    mutating func join(_ join: JoinRequest, into effects: inout Deque<RoomEffect>) {
        if case .loading(var joins) = state {
            //
            guard joins.count < RoomMembers.maxCount else { return effects.append(.reset(join.member, .roomFull)) }
            state = .ready
            joins.append(join)
            return state = .loading(joins)
        }
        if isUncreated { return create(for: [join], into: &effects) }
        guard mayEnter(join.who.account, join.permissions) else {
            return effects.append(.reset(join.member, .roomForbidden))
        }
        if join.open.kind == .attachment { return joinAttachments(join, into: &effects) }
        guard !members.isFull else { return effects.append(.reset(join.member, .roomFull)) }
        guard !throttle.isAllocated || !throttle.value.withholds(from: join.who.account) else {
            return effects.append(.reset(join.member, .serverBusy, until: throttle.value.deadline))
        }
        var member = RoomMember(
            key: join.member, who: join.who, cursor: log.cursor(of: join.open), noLocal: join.open.noLocal,
            creditLimit: join.creditByteCount)
        member.window = windows[join.who]
        member.isBacklogged = join.isBacklogged
        member.features = join.features
        member.permissions = join.permissions
        let slot = members.insert(member)
        effects.append(.opened(join.member, handle: handle(slot), opened(naming: join.open.log, to: join.who)))
        noteEarlierProgress(for: slot, into: &effects)
        noteAwayAccounts(for: slot, into: &effects)
        if !join.permissions.contains(.readHistory) { skipGap(slot, to: log.lastOffset + 1, into: &effects) }
        deliverNext(slot, into: &effects)
    }

    mutating func leave(_ handle: MemberHandle, into effects: inout Deque<RoomEffect>) {
        if leaveAttachments(handle) { return }
        guard let slot = members.slot(handle) else { return }
        depart(slot, into: &effects)
        endRequests(of: slot, into: &effects)
        members.remove(slot)
        if isBusy { publication.removeClosing(handle) }
    }

    /// A member has closed its session: it leaves, and its session ends when its messages are accepted and its requests
    /// to the relay are answered (S-7, R-49, R-147).
    mutating func close(_ handle: MemberHandle, into effects: inout Deque<RoomEffect>) {
        if closeAttachments(handle, into: &effects) { return }
        guard let slot = members.slot(handle), !members[slot].hasLeft else { return }
        depart(slot, into: &effects)
        publication.close(handle, durable: log.lastOffset)
    }

    /// The member is no longer present, but keeps its slot.
    private mutating func depart(_ slot: Int, into effects: inout Deque<RoomEffect>) {
        guard !members[slot].hasLeft else { return }
        endForwardedRequests(of: slot, into: &effects)
        receipts.takePending(slot)
        members.leave(slot)
    }

    /// A member suspends the delivery of messages, or continues, from a cursor if it names one.
    mutating func setSuspended(
        _ isSuspended: Bool, _ handle: MemberHandle, cursor: UInt64?, into effects: inout Deque<RoomEffect>
    ) {
        guard let slot = members.slot(handle) else { return }
        if let cursor { members[slot].cursor = max(members[slot].cursor, min(cursor, log.lastOffset)) }
        members[slot].isSuspended = isSuspended
        deliverNext(slot, into: &effects)
    }

    /// A member's link has a long queue, or has room again.
    mutating func setBacklogged(_ isBacklogged: Bool, _ handle: MemberHandle, into effects: inout Deque<RoomEffect>) {
        guard let slot = members.slot(handle) else { return }
        members[slot].isBacklogged = isBacklogged
        deliverNext(slot, into: &effects)
    }

    /// A member's link negotiated other features.
    mutating func setFeatures(_ features: Features, _ handle: MemberHandle) {
        if let slot = members.slot(handle) { members.setFeatures(features, of: slot) }
    }

    /// A member's link has lost its connection.
    mutating func disconnected(_ handle: MemberHandle, into effects: inout Deque<RoomEffect>) {
        if setAttachmentsAway(true, handle, into: &effects) { return }
        if let slot = members.slot(handle) { members.setAway(true, of: slot) }
    }

    /// A reliable frame for a member.
    mutating func send(_ type: FrameType, _ body: EncodedBody, to slot: Int, into effects: inout Deque<RoomEffect>) {
        guard members.isLive(slot) else { return }
        effects.append(.send(members[slot].key, type, body))
    }

    // MARK: Turns

    /// The messages of the batch become entries of the log.
    mutating func take(_ batch: inout RoomBatch) {
        guard batch.publisher != nil else { return }
        allocatedPublication.value.append(&batch, areSummed: members.hasPlainReaders, to: &windows)
    }

    /// A message waits that was published at a different relay.
    mutating func addWaiting(_ entry: LogEntry, of part: Publication.Part) {
        allocatedPublication.value.append(entry, of: part)
    }

    /// Ends a turn: presence, durable messages, the next batch for the store, acceptances.
    mutating func flush(
        now: Instant, presence budget: inout PresenceBudget, into effects: inout Deque<RoomEffect>
    ) {
        sendPresence(now: now, budget: &budget, into: &effects)
        for slot in members.takeUnfinished() where members.isLive(slot) { deliverNext(slot, into: &effects) }
        if log.hasUnoffered {
            for slot in members.slots where members.isLive(slot) { deliverNext(slot, into: &effects) }
            log.endOffer()
        }
        let wasStoring = isBusy && publication.isStoring
        let mayAppend = beginAppend(now: now, into: &effects)
        if isBusy { flushPublication(mayAppend: mayAppend, into: &effects) }
        if members.hasWaitingProgress { applyWaitingProgress(into: &effects) }
        if replica.isBehind(log.lastOffset) {
            admitAwaiting(upTo: log.lastOffset, into: &effects)
            readMissed(now: now, into: &effects)
        } else {
            replica.endDelay()
        }
        saveProgress(isAppending: !wasStoring && isBusy && publication.isStoring, now: now, into: &effects)
    }

    /// Passes new progress to the store, with an append, after `RoomReceipts.maxSaveDelay`, or before the room is
    /// evicted.
    private mutating func saveProgress(isAppending: Bool, now: Instant, into effects: inout Deque<RoomEffect>) {
        guard receipts.hasUnsaved else { return }
        let deadline = saveDeadline ?? now + RoomReceipts.maxSaveDelay
        guard isAppending || isIdle || deadline <= now else { return saveDeadline = deadline }
        saveProgress(into: &effects)
    }

    /// Passes new progress to the store at once, since the room leaves memory.
    mutating func saveProgress(into effects: inout Deque<RoomEffect>) {
        guard receipts.hasUnsaved else { return }
        saveDeadline = nil
        effects.append(.store(.saveProgress(name, receipts.takeUnsaved())))
    }

    /// Releases the memory for messages that are not durable, unless messages are in memory.
    mutating func releaseIdleMemory() {
        if isBusy, log.tail.isEmpty, publication.isEmpty { allocatedPublication.release() }
    }

    // MARK: Memory

    /// Bytes of a room, of its publication, of a member, of a device's window, of an account's progress and of a
    /// request.
    private static let baseByteCount = MemoryLayout<RelayRoom>.stride + 96
    private static let publicationByteCount = MemoryLayout<Publication>.stride + 96
    private static let memberByteCount = MemoryLayout<RoomMember>.stride + 32
    private static let windowByteCount = 352
    private static let progressByteCount = 64
    private static let requestByteCount = 256
    /// Bytes of an account in the pending receipts or presence of a member.
    private static let pendingByteCount = 96
    /// Bytes of a report of presence.
    private static let reportByteCount = 48
    /// Bytes of a message in memory beside its body.
    private static let entryByteCount = 128

    /// Returns the change of the bytes that the room holds, with objects, since the last call.
    @inline(__always)
    mutating func takeChargeChange() -> Int {
        var byteCount = RelayRoom.baseByteCount + name.text.utf8.count + log.tail.byteCount
        byteCount += (log.tail.count + log.recentErasures.count) * RelayRoom.entryByteCount
        if isBusy {
            byteCount += publication.pendingByteCount + publication.entryCount * RelayRoom.entryByteCount
            byteCount += RelayRoom.publicationByteCount
        }
        if case .loading(let joins) = state { byteCount += joins.count * RelayRoom.memberByteCount }
        byteCount += members.slots.count * RelayRoom.memberByteCount + windows.count * RelayRoom.windowByteCount
        if usesAttachments { byteCount += attachments.byteCount }
        byteCount += receipts.accountCount * RelayRoom.progressByteCount + requests.count * RelayRoom.requestByteCount
        byteCount += receipts.pendingAccountCount * RelayRoom.pendingByteCount
        byteCount += members.reportCount * RelayRoom.reportByteCount + members.remoteByteCount
        byteCount += replica.earlyByteCount
        if usesRoles { byteCount += moderation.byteCount }
        if allocatedMemberships.isAllocated { byteCount += memberships.byteCount }
        if hasCommands { byteCount += commands.byteCount }
        if isScanScheduled { byteCount += scan.byteCount }
        defer { chargedByteCount = byteCount }
        return byteCount - chargedByteCount
    }

    // MARK: Quiescence

    /// Checks that every member is connected and has received everything.
    func quiescence() -> QuiescenceCheck {
        var check = QuiescenceCheck("room \(name)")
        if case .loading(let joins) = state { check.empty("loading rooms with \(joins.count) joins", count: 1) }
        publication.check(&check)
        moderation.check(&check)
        memberships.check(&check)
        commands.check(&check)
        if isWatched { changes.check(&check, lastOffset: log.lastOffset) }
        scan.check(&check)
        requests.check(&check)
        history.check(&check)
        replica.check(&check, lastOffset: log.lastOffset)
        attachments.check(&check)
        receipts.check(&check)
        check.equal("messages that were not offered", log.hasUnoffered, false)
        check.equal("memory for messages that are not durable", isBusy && log.tail.isEmpty, false)
        members.check(&check, lastOffset: log.lastOffset)
        return check
    }
}
