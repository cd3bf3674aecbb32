public import MartletWire

/// All decisions of a relay on one loop: connections, links and rooms, without sockets, clocks or stores.
///
/// Events come in as calls, each with its instant; then `nextOutput` is called until it answers nil, and
/// `deadlinePassed` when `deadline` has come. Bytes go in with `receive` and out with `transmit`. A connection is
/// admitted by its hello, gets a link (new or resumed), and the link's sessions become members of rooms. A fault of a
/// connection ends that connection and suspends its link; a fault of a session resets that session.
public struct RelayEngine: ~Copyable {
    /// The bounds this relay keeps.
    public let configuration: RelayConfiguration
    /// The relay's wall clock in milliseconds since 1970; the shell sets it at the beginning of each turn.
    public var wallClock: UInt64 = 0

    /// The numbers of timers: connections have the even ones, links the odd ones.
    enum TimerKey {
        static func connection(_ slot: Int) -> Int { 2 * slot }
        static func link(_ slot: Int) -> Int { 2 * slot + 1 }
    }

    /// Entries of a queue, of which at most `current` are not outdated, beyond which the others are let go.
    static func maxQueued(current: Int) -> Int { 2 * current + 16 }

    var connections = SlotTable<RelayConnection>()
    var links = SlotTable<RelayLink>()
    var generation: UInt32 = 0
    var linkOfDevice = SlotIndex()
    var linkOfID = SlotIndex()
    var accounts = AccountTable()
    var suspended = Deque<Suspension>()
    var suspendedCount = 0
    /// Those that live on this loop.
    var rooms: Rooms
    let place: LoopPlace
    /// What other loops are to be told at the end of the turn, by their numbers.
    var departing: [[LoopMessage]]
    var timers = SlotTimers()
    /// Connections that are to be asked for bytes, those that were in this turn, and those that have given none since
    /// an earlier one.
    var unasked: [ConnectionKey] = []
    var asked: [Int] = []
    var waits = Deque<TransmitWait>()
    var touched = TouchedLinks()
    var outputs = Deque<RelayOutput>()
    /// Whether a group of links has been seen to, and what they want goes before further effects.
    private var isHandingOut = false
    var inflater = Inflater()
    /// What the connection that is read may still cause in this turn, and input of those that have caused enough.
    var turn = TurnBudget()
    var unread = UnreadInput()
    /// Serves connections that hold nothing of a frame.
    var spareFramer: FramerBox?
    var nextLinkID: UInt64
    var drainNotice: Notice?
    private(set) var revocations = Revocations()
    var counted = RelayStatistics()
    var memory: MemoryLedger

    /// A relay without connections.
    ///
    /// - Parameters:
    ///   - seed: where link IDs start, so that those of one run are not mistaken for another's. A link ID is no secret.
    ///   - place: which of the relay's loops this is.
    public init(
        configuration: RelayConfiguration = RelayConfiguration(), seed: UInt64, place: LoopPlace = .only
    ) {
        self.configuration = configuration
        self.place = place
        memory = MemoryLedger(budget: configuration.memoryBudget / place.count)
        nextLinkID = seed
        rooms = Rooms(loop: place.number)
        departing = Array(repeating: [], count: place.count)
    }

    // MARK: Connections

    /// A connection was accepted; nil when there are too many and it is to be closed at once (C-11).
    public mutating func accepted(_ carrier: Carrier, now: Instant) -> ConnectionKey? {
        guard counted.connections < configuration.maxConnections, !memory.isFull else { return nil }
        generation &+= 1
        let slot = connections.insert(RelayConnection(generation: generation, carrier: carrier, now: now))
        counted.connections += 1
        counted.connectionsAccepted += 1
        armConnection(slot)
        return key(slot)
    }

    /// A connection is over: its link waits to be resumed.
    public mutating func closed(_ key: ConnectionKey, now: Instant) {
        guard let slot = slot(key) else { return }
        detach(slot, now: now)
        forget(slot)
    }

    /// The peer will send no more; a frame that is not whole is not delivered (Specs/hostile.md row 8).
    public mutating func endOfStream(_ key: ConnectionKey, now: Instant) {
        guard let slot = slot(key), connections[slot].phase != .closing else { return }
        guard !connections[slot].hasUnread else { return unread.noteEnd(of: key) }
        do { try connections[slot].framer?.framer.finish() } catch { return fail(slot, LinkError(error), now: now) }
        end(slot, afterFlush: true, now: now)
    }

    // MARK: Time

    /// When `deadlinePassed` wants to be called; a time that has passed while input waits to be read on.
    public var deadline: Instant? {
        unread.isEmpty ? nextDeadline : .zero
    }

    private var nextDeadline: Instant? {
        timers.earliest.orEarlier(waitDeadline).orEarlier(suspensionDeadline).orEarlier(rooms.deadline)
    }

    /// Bytes of input that wait to be read on.
    public var unreadByteCount: Int { unread.byteCount }

    /// Acts on the deadlines that have passed, and reads on for one of the connections whose input waits.
    public mutating func deadlinePassed(now: Instant) {
        readOn(now: now)
        rooms.deadlinePassed(now: now)
        endLongWaits(now: now)
        endLongSuspensions(now: now)
        while let key = timers.popExpired(now: now) {
            if key % 2 == 0 { connectionDeadline(key / 2, now: now) } else { linkDeadline(key / 2, now: now) }
        }
    }

    // MARK: Answers of the shell

    /// The store's answer to `.load`; nil when it could not.
    public mutating func loaded(_ room: RoomName, _ snapshot: RoomSnapshot?) {
        rooms.loaded(room, snapshot, at: wallClock)
    }

    /// The store's answer to `.append`: durable up to this offset; nil when it could not.
    public mutating func stored(_ room: RoomName, upTo offset: UInt64?, messageCount: Int) {
        if offset != nil { counted.messagesStored += UInt64(messageCount) }
        rooms.stored(room, upTo: offset)
    }

    /// The store's other answer to `.append`: it has lost the room's log since it was loaded. The room begins anew.
    public mutating func logLost(_ room: RoomName) {
        rooms.logLost(room)
    }

    /// The store's answer to `.read`; nil when it could not. `first` is the lowest offset that the store keeps.
    public mutating func read(_ handle: MemberHandle, _ entries: [LogEntry]?, first: UInt64) {
        rooms.read(handle, entries, first: first)
    }

    /// The handler's answer to `.request`.
    public mutating func respond(to handle: MemberHandle, _ response: Response) {
        rooms.respond(handle, response, isRelay: true)
    }

    /// What `opened` would say now of the room that a member is in; nil when the member is gone.
    public func state(of handle: MemberHandle) -> Opened? {
        rooms.state(of: handle)
    }

    // MARK: The operator

    /// Ends every connection and link of an account, whose credential no longer holds (C-28, Specs/hostile.md row 24).
    ///
    /// Who is still being authenticated as it, here or on the way from another loop, is not let in.
    public mutating func revoke(_ account: AccountName, now: Instant) {
        revocations.insert(account, now: now)
        for slot in links.slots where links.isLive(slot) && links[slot].who.account == account {
            if let connection = links[slot].connection {
                say(.goaway, Notice(code: .revoked), on: connection, now: now)
            }
            remove(slot, now: now)
        }
    }

    /// Admits nobody any more and sends everybody away, to come back after a while or elsewhere (C-45).
    public mutating func drain(retryAfter: Duration?, redirect: String? = nil, now: Instant) {
        let notice = Notice(code: .draining, retryAfter: retryAfter, redirect: redirect)
        drainNotice = notice
        for slot in connections.slots where connections.isLive(slot) && connections[slot].phase != .closing {
            say(.goaway, notice, on: slot, now: now)
        }
    }

    /// Counts of what is and what was.
    public var statistics: RelayStatistics {
        var result = counted
        result.rooms = rooms.count
        result.suspendedLinks = suspendedCount
        return result
    }

    // MARK: Outputs

    /// The next thing to do; nil when there is none until the next event.
    public mutating func nextOutput(now: Instant) -> RelayOutput? {
        while true {
            // Effects first: a shell that answers an output at once would heap up those of many rooms.
            if !isHandingOut, let effect = rooms.nextEffect(now: now) {
                apply(consume effect, now: now)
                if touched.isGroupFull {
                    flushTouched(isGroup: true, now: now)
                    isHandingOut = true
                }
                continue
            }
            if !unasked.isEmpty {
                defer { unasked = [] }
                return .transmit(unasked)
            }
            if let output = outputs.popFirst() { return output }
            if isHandingOut {
                isHandingOut = false
                continue
            }
            guard !touched.isEmpty else {
                if let output = nextDeparture() { return output }
                if boundMemory(now: now) { continue }
                queueWaits(now: now)
                turn.end()
                rooms.endTurn()
                return nil
            }
            flushTouched(isGroup: false, now: now)
        }
    }

    /// The goaway's or reject's bytes go into the connection's outbox, and the connection ends behind them (C-40).
    ///
    /// Before authentication never more than three times what was received, so that nobody can be made to flood another
    /// (Specs/hostile.md row 32): what is too long is said in fewer words, or not at all (W-37, C-15).
    mutating func say(_ type: FrameType, _ notice: Notice, on slot: Int, now: Instant) {
        for words in [notice, notice.withoutReason, Notice(code: notice.code)] {
            let body = type == .reject ? Reject(words).encode() : GoAway(words).encode()
            if let entry = connections[slot].entry {
                let byteCount = entry.sentByteCount + FrameHeader.byteCount + body.count
                guard byteCount <= 3 * entry.receivedByteCount else { continue }
            }
            enqueue(type, body, on: slot, now: now)
            break
        }
        end(slot, afterFlush: true, now: now)
    }

    /// Appends a handshake frame to the connection's outbox.
    mutating func enqueue(_ type: FrameType, _ body: [UInt8], on slot: Int, now: Instant) {
        let byteCount = connections[slot].outbox.append(type, body)
        connections[slot].entry?.sentByteCount += byteCount
        askToTransmit(slot, now: now)
    }
}

extension Notice {
    fileprivate var withoutReason: Notice {
        Notice(code: code, retryAfter: retryAfter, redirect: redirect, spokenVersions: spokenVersions)
    }
}
