import MartletLink
import MartletWire

/// The sessions of accounts on one loop, and the rooms that are watched for them.
///
/// | state of an account | owns | ends |
/// |---|---|---|
/// | reading | sessions that wait, a read of the names of its rooms | `namesRead` |
/// | registering | sessions that wait, the loops that have not answered | `watched` by every loop |
/// | watching | sessions, the rooms that loops watch for it | its last session ends |
///
/// A session is accepted when the account is watching: no change is lost between its first page and its updates.
struct AccountSessions: Sendable {
    /// What follows an event.
    enum Output: Equatable {
        /// Read the names of the account's rooms.
        case readNames(AccountName)
        /// Pass a call to the rooms of a loop.
        case watch(WatchCall)
        /// Accept the session.
        case accept(MemberKey)
        /// Reset the session.
        case reset(MemberKey, ErrorCode)
        /// The session may have something to read or to send.
        case check(MemberKey)
    }

    private enum State {
        case reading
        case registering(remaining: Set<Int>)
        case watching
    }

    private struct Account: Sendable {
        var state = State.reading
        var sessions: [MemberKey] = []
        /// The watched rooms, with the account's progress by the latest report of each.
        var rooms: [RoomName: AccountProgress] = [:]

        /// Returns whether the set of rooms has changed.
        mutating func note(_ change: RoomChange, of room: RoomName) -> Bool {
            change.isWatched
                ? rooms.updateValue(change.progress, forKey: room) == nil : rooms.removeValue(forKey: room) != nil
        }
    }

    /// The minimum duration between two times at which all sessions list again, because items of the bus were lost.
    static let relistInterval: Duration = .seconds(30)
    /// The number of sessions that list again in a step, and the duration between two steps.
    static let relistCount = 64
    static let relistStep: Duration = .milliseconds(100)

    /// Bytes of a watched room beside its name, with its entry in `RoomWatchers`, and of a pending update.
    private static let roomByteCount = 256
    private static let updateByteCount = 96

    private let place: LoopPlace
    private var accounts: [AccountName: Account] = [:]
    private var sessions: [MemberKey: AccountSession] = [:]
    private var timers = TimerQueue<MemberKey>()
    /// The sessions that list again, and the instants of the next step and of the next time.
    private var relisting = Deque<MemberKey>()
    private var relistAt: Instant?
    private var nextRelistAt = Instant.zero
    /// Bytes of the watched rooms of all accounts.
    private var watchedByteCount = 0
    /// Pending updates of all sessions.
    private var updateCount = 0

    init(place: LoopPlace) {
        self.place = place
    }

    var count: Int { sessions.count }
    var deadline: Instant? { timers.earliest.orEarlier(relistAt) }
    /// Bytes of the sessions and of the rooms that are watched for them, with objects, in approximation.
    var byteCount: Int {
        sessions.count * AccountSession.byteCount + watchedByteCount + updateCount * Self.updateByteCount
    }

    subscript(key: MemberKey) -> AccountSession? {
        get { sessions[key] }
        set {
            updateCount += (newValue?.pending.count ?? 0) - (sessions[key]?.pending.count ?? 0)
            sessions[key] = newValue
        }
    }

    private static func byteCount(of rooms: some Sequence<RoomName>) -> Int {
        rooms.reduce(0) { $0 + roomByteCount + $1.text.utf8.count }
    }

    // MARK: Sessions

    /// A session is opened. It waits until all rooms of the account are watched.
    mutating func opened(_ key: MemberKey, of account: AccountName) -> [Output] {
        accounts[account, default: Account()].sessions.append(key)
        guard accounts[account]?.sessions.count == 1 else {
            guard case .watching? = accounts[account]?.state else { return [] }
            sessions[key] = AccountSession()
            return [.accept(key)]
        }
        return [.readNames(account)]
    }

    /// A session has ended.
    mutating func ended(_ key: MemberKey, of account: AccountName) -> [Output] {
        self[key] = nil
        timers.cancel(key)
        guard let index = accounts[account]?.sessions.firstIndex(of: key) else { return [] }
        accounts[account]?.sessions.remove(at: index)
        guard accounts[account]?.sessions.isEmpty == true, let ended = accounts.removeValue(forKey: account) else {
            return []
        }
        watchedByteCount -= Self.byteCount(of: ended.rooms.keys)
        return calls(account, Array(ended.rooms.keys), isWatching: false, answered: []).map { .watch($0) }
    }

    /// The names of an account's rooms were read; nil if the store has failed.
    mutating func namesRead(_ names: [RoomName]?, of account: AccountName) -> [Output] {
        guard let found = accounts[account], case .reading = found.state else { return [] }
        guard let names else {
            return found.sessions.map { .reset($0, .storeUnavailable) }
        }
        var rooms = found.rooms
        for name in names where rooms[name] == nil { rooms[name] = AccountProgress() }
        accounts[account]?.rooms = rooms
        watchedByteCount += Self.byteCount(of: rooms.keys) - Self.byteCount(of: found.rooms.keys)
        let loops = Set(rooms.keys.map { place.loop(of: $0) })
        accounts[account]?.state = .registering(remaining: loops)
        guard !loops.isEmpty else { return acceptAll(of: account) }
        return calls(account, Array(rooms.keys), isWatching: true, answered: loops).map { .watch($0) }
    }

    /// A loop watches its rooms for an account.
    mutating func watched(_ account: AccountName, by loop: Int) -> [Output] {
        guard case .registering(var remaining)? = accounts[account]?.state else { return [] }
        remaining.remove(loop)
        accounts[account]?.state = .registering(remaining: remaining)
        return remaining.isEmpty ? acceptAll(of: account) : []
    }

    private mutating func acceptAll(of account: AccountName) -> [Output] {
        accounts[account]?.state = .watching
        let keys = accounts[account]?.sessions ?? []
        for key in keys { sessions[key] = AccountSession() }
        return keys.map { .accept($0) }
    }

    private func calls(
        _ account: AccountName, _ rooms: [RoomName], isWatching: Bool, answered loops: Set<Int>
    ) -> [WatchCall] {
        Dictionary(grouping: rooms) { place.loop(of: $0) }.sorted { $0.key < $1.key }.map { loop, rooms in
            WatchCall(
                loop: loop, account: account, rooms: rooms.sorted(), isWatching: isWatching,
                isLast: loops.contains(loop))
        }
    }

    // MARK: Changes

    /// A room has changed for accounts of this loop. An account without a session is no longer watched.
    mutating func changed(_ room: RoomName, _ changes: [RoomChange]) -> [Output] {
        var outputs: [Output] = []
        for change in changes {
            guard let keys = accounts[change.account]?.sessions else {
                guard change.isWatched else { continue }
                outputs += calls(change.account, [room], isWatching: false, answered: []).map { .watch($0) }
                continue
            }
            if accounts[change.account]?.note(change, of: room) == true {
                watchedByteCount += (change.isWatched ? 1 : -1) * Self.byteCount(of: [room])
            }
            for key in keys {
                guard let before = sessions[key]?.pending.count else { continue }
                sessions[key]?.note(room, change.progress)
                updateCount += (sessions[key]?.pending.count ?? 0) - before
                outputs.append(.check(key))
            }
        }
        return outputs
    }

    /// The progress of an account by the latest reports of its rooms. A page has at least this progress, so that it
    /// does not revert an update.
    func progress(of account: AccountName) -> [RoomName: AccountProgress] { accounts[account]?.rooms ?? [:] }

    /// The sessions of an account on this loop.
    func sessions(of account: AccountName) -> [MemberKey] { accounts[account]?.sessions ?? [] }

    /// Changes at other relays may have been missed: the sessions list their rooms again.
    mutating func noteMissed(now: Instant) {
        guard !sessions.isEmpty else { return }
        relistAt = relistAt ?? max(now, nextRelistAt)
    }

    /// Takes the sessions that list again now.
    mutating func takeRelisting(now: Instant) -> [MemberKey] {
        guard let at = relistAt, at <= now else { return [] }
        if relisting.isEmpty {
            nextRelistAt = now + Self.relistInterval
            let keys = sessions.keys.sorted {
                ($0.link.slot, $0.session) < ($1.link.slot, $1.session)
            }
            relisting = Deque(keys)
        }
        var step: [MemberKey] = []
        while step.count < Self.relistCount, let key = relisting.popFirst() {
            guard sessions[key] != nil else { continue }
            self[key]?.listAgain()
            step.append(key)
        }
        relistAt = relisting.isEmpty ? nil : now + Self.relistStep
        return step
    }

    // MARK: Time

    /// Sets the timer of a session to its deadline.
    mutating func arm(_ key: MemberKey) { timers.set(key, at: sessions[key]?.deadline) }

    mutating func popExpired(now: Instant) -> MemberKey? { timers.popExpired(now: now) }

    // MARK: Quiescence

    /// Checks that nothing waits.
    func check(_ check: inout QuiescenceCheck) {
        for account in accounts.values {
            let isWatching = if case .watching = account.state { true } else { false }
            check.equal("accounts whose rooms are not watched", isWatching, true)
        }
        for session in sessions.values { session.check(&check) }
    }
}
