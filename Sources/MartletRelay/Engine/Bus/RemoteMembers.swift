import MartletLink
import MartletWire

/// The members of a room at other relays of the bus, and what this relay has to report of its own members (R-215,
///
///
/// | state of a relay | owns | ends |
/// |---|---|---|
/// | unknown | nothing | an item of it |
/// | known | its accounts, and the number of the datagram with all of them | it is lost; the room is evicted |
///
/// Items of a relay arrive in the order of its datagrams. What a lost datagram had is replaced by all members of the
/// relay, for which `isComplete` asks.
struct RemoteMembers: ~Copyable, Neutral, Sendable {
    static let neutral = NeutralValue<RemoteMembers>()
    /// The maximum number of accounts whose progress waits for messages.
    static let maxWaitingCount = 256
    /// The maximum duration until new progress is reported to the other relays. Changes of presence are reported at
    /// once, with the progress that waits.
    static let maxProgressDelay: Duration = .milliseconds(100)

    private struct Relay: Sendable {
        /// The number of the datagram that began with all members; 0 before the first one.
        var number: UInt64 = 0
        /// Members, of which a relay with many reports no accounts.
        var count = 0
        var accounts: [AccountName: Transient.Presence] = [:]
    }

    private var relays: [RelayID: Relay] = [:]
    /// The progress of accounts with offsets beyond this relay's copy of the log.
    private var waiting: [AccountName: BusMember] = [:]
    /// The accounts with changes that were not reported to the other relays, with the devices that caused progress.
    private var changed: [AccountName: DeviceID?] = [:]
    /// Whether one of them has another presence.
    private var hasPresence = false
    /// The instant until which progress waits.
    private var progressAt = Instant.zero
    /// Whether the other relays know that this one has members.
    private(set) var isAnnounced = false
    /// Whether the members at this relay were too many to report their accounts.
    private var hadMany = false

    init() {}

    // MARK: Other relays

    /// Members at other relays.
    var count: Int { relays.values.reduce(0) { $0 + $1.count } }

    /// The presence of an account at other relays, the best of all.
    func presence(of account: AccountName) -> Transient.Presence {
        var best = Transient.Presence.left
        for relay in relays.values {
            guard let presence = relay.accounts[account] else { continue }
            if presence == .online { return .online }
            best = presence
        }
        return best
    }

    /// The accounts at other relays, in the order of their names.
    var accounts: [AccountName] { Set(relays.values.flatMap { $0.accounts.keys }).sorted() }

    /// A relay at which an account has a connection, the one with the lowest identity.
    func relay(of account: AccountName) -> RelayID? {
        relays.filter { $0.value.accounts[account] == .online }.keys.min()
    }

    /// Whether all members of these relays are known, each with the number before which datagrams may be missing.
    func isComplete(_ known: [RelayID: UInt64]) -> Bool {
        known.allSatisfy { relay, number in relays[relay].map { $0.number >= number } ?? false }
    }

    /// The accounts whose presence an item may change. Usually it has progress only.
    func accounts(in item: BusMembers, from relay: RelayID) -> [AccountName] {
        let known = relays[relay]?.accounts ?? [:]
        let changed = item.entries.filter { known[$0.account] ?? .left != $0.presence }.map(\.account)
        guard item.isWhole || !changed.isEmpty else { return [] }
        return Set(item.isWhole ? changed + known.keys : changed).sorted()
    }

    /// Members of a relay.
    mutating func take(_ item: BusMembers, from id: RelayID, number: UInt64) {
        // The accounts are changed in place.
        var relay = relays.removeValue(forKey: id) ?? Relay()
        relay.count = min(Int(item.count), RoomMembers.maxCount)
        if item.isWhole {
            relay.accounts = [:]
            relay.number = number
        }
        for entry in item.entries {
            guard entry.presence != .left, relay.count <= RoomMembers.maxPresenceCount else {
                relay.accounts[entry.account] = nil
                continue
            }
            guard relay.accounts.count < RoomMembers.maxPresenceCount || relay.accounts[entry.account] != nil else {
                continue
            }
            relay.accounts[entry.account] = entry.presence
        }
        if relay.count == 0 || relay.count > RoomMembers.maxPresenceCount { relay.accounts = [:] }
        relays[id] = relay
    }

    /// A relay has members, which are not known yet.
    mutating func noteMembers(at relay: RelayID) {
        if relays[relay]?.count ?? 0 == 0 { relays[relay, default: Relay()].count = 1 }
    }

    /// The accounts at a relay.
    func accounts(at relay: RelayID) -> [AccountName] { relays[relay].map { $0.accounts.keys.sorted() } ?? [] }

    /// A relay is away.
    mutating func remove(_ relay: RelayID) { relays[relay] = nil }

    // MARK: Progress

    /// The progress of an account waits for messages that the copy misses. The highest offsets are kept.
    mutating func wait(_ entry: BusMember) {
        guard let known = waiting[entry.account] else {
            if waiting.count < Self.maxWaitingCount { waiting[entry.account] = entry }
            return
        }
        waiting[entry.account]?.delivered = max(known.delivered, entry.delivered)
        waiting[entry.account]?.read = max(known.read, entry.read)
    }

    /// Takes the progress that waits, if there is any.
    mutating func takeWaiting() -> [BusMember] {
        guard !waiting.isEmpty else { return [] }
        defer { waiting = [:] }
        return waiting.values.sorted { $0.account < $1.account }
    }

    var hasWaiting: Bool { !waiting.isEmpty }

    // MARK: Reports

    /// The instant at which progress that waits is reported; nil if there is none.
    var deadline: Instant? { changed.isEmpty || hasPresence ? nil : progressAt }

    /// Whether changes are reported now.
    ///
    /// - Parameter isLast: Whether the room leaves memory.
    func isDue(isLast: Bool, now: Instant) -> Bool {
        !changed.isEmpty && (hasPresence || isLast || progressAt <= now)
    }

    /// The presence of an account at this relay has changed; with a device, its progress.
    mutating func noteChange(of account: AccountName, on device: DeviceID? = nil) {
        if device == nil { hasPresence = true }
        if device != nil || changed[account] == nil { changed.updateValue(device, forKey: account) }
    }

    /// Takes the changed accounts. `isWhole` if all members have to be reported instead.
    ///
    /// - Parameter count: The members at this relay.
    mutating func takeChanges(count: Int, now: Instant) -> (accounts: [(AccountName, DeviceID?)], isWhole: Bool) {
        let taken = changed.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
        (changed, hasPresence) = ([:], false)
        progressAt = now + Self.maxProgressDelay
        let hasMany = count > RoomMembers.maxPresenceCount
        defer { hadMany = hasMany }
        return (taken, hadMany && !hasMany)
    }

    /// The other relays know that this one has members, or that it has none any more.
    mutating func setAnnounced(_ isAnnounced: Bool) { self.isAnnounced = isAnnounced }

    /// Bytes of the accounts, with objects.
    var byteCount: Int {
        (relays.values.reduce(0) { $0 + $1.accounts.count } + relays.count + waiting.count + changed.count) * 96
    }

    /// Checks that nothing waits.
    func check(_ check: inout QuiescenceCheck) {
        check.empty("members that were not reported to other relays", count: changed.count)
    }
}
