import MartletLink
public import MartletWire

/// Administration of a relay. Each method does the bounded work of one page or step; the caller repeats it with
/// `next` until there is none.
extension Relay {
    /// The state of the relay.
    public var overview: RelayOverview {
        get async {
            let statistics = await statistics
            var byteCount = 0
            for driver in drivers { byteCount += await driver.onLoop { $0.engine.memoryByteCount } }
            return RelayOverview(
                since: since, connectionCount: UInt32(statistics.connections), linkCount: UInt32(statistics.links),
                roomCount: UInt32(statistics.rooms), messageCount: statistics.messagesStored,
                memoryByteCount: UInt64(byteCount))
        }
    }

    /// A page of the links, with a connection or without.
    ///
    /// - Parameters:
    ///   - place: The place of the page, from the one before; nil for the first page.
    ///   - limit: The maximum number of items, 1 to 32.
    public func links(from place: RelayPlace? = nil, limit: Int = 32) async -> RelayPage<LinkOverview> {
        await page(from: place, limit) { $0.linkPage(from: $1, limit: $2) }
    }

    /// A page of the accounts that have links.
    ///
    /// - Parameters:
    ///   - place: The place of the page, from the one before; nil for the first page.
    ///   - limit: The maximum number of items, 1 to 32.
    public func accounts(from place: RelayPlace? = nil, limit: Int = 32) async -> RelayPage<AccountOverview> {
        await page(from: place, limit) { $0.engine.accountPage(from: $1, limit: $2) }
    }

    /// A page of all rooms of the store in the order of their names, or of those in memory if the store has no list
    /// . A room that is not in memory has no members and takes none.
    ///
    /// - Parameters:
    ///   - place: The place of the page, from the one before; nil for the first page.
    ///   - limit: The maximum number of items, 1 to 32.
    /// - Throws: `storeUnavailable`.
    public func rooms(
        from place: RelayPlace? = nil, limit: Int = 32
    ) async throws(RoomCommandError) -> RelayPage<RoomOverview> {
        guard parts.store.features.contains(.roomList) else { return await roomsInMemory(from: place, limit: limit) }
        let limit = min(max(limit, 1), AdministrationPage.maxItemCount)
        let found = try await list(RoomListRead(after: place?.room, limit: limit))
        var inMemory: [RoomName: RoomOverview] = [:]
        let place = LoopPlace(index: 0, count: max(drivers.count, 1))
        for (index, driver) in drivers.enumerated() {
            let names = found.rooms.map(\.name).filter { place.loop(of: $0) == index }
            guard !names.isEmpty else { continue }
            for overview in await driver.onLoop({ driver in names.compactMap { driver.engine.roomOverview(of: $0) } }) {
                inMemory[overview.room] = overview
            }
        }
        let items = found.rooms.map { room in
            inMemory[room.name]
                ?? RoomOverview(
                    room: room.name, memberCount: 0, log: room.log, head: room.lastOffset, first: room.firstOffset,
                    memoryByteCount: 0)
        }
        return RelayPage(items: items, next: found.next.map { RelayPlace(rawValue: 0, room: $0) })
    }

    private func list(_ read: RoomListRead) async throws(RoomCommandError) -> StoredRoomPage {
        do throws(RoomStoreError) {
            return try await parts.store.call { .listRooms(read, $0) }
        } catch {
            parts.onEvent(.storeFailed(read.after ?? .administration, error.cause))
            throw .storeUnavailable
        }
    }

    private func roomsInMemory(from place: RelayPlace?, limit: Int = 32) async -> RelayPage<RoomOverview> {
        await page(from: place, limit) { $0.engine.roomPage(from: $1, limit: $2) }
    }

    private func page<Item: Sendable>(
        from place: RelayPlace?, _ limit: Int,
        _ read: @escaping @Sendable (RelayDriver, Int, Int) -> (items: [Item], next: Int?)
    ) async -> RelayPage<Item> {
        let place = place ?? RelayPlace(rawValue: 0)
        let drivers = drivers
        guard place.loop < drivers.count else { return RelayPage(items: [], next: nil) }
        let limit = min(max(limit, 1), AdministrationPage.maxItemCount)
        let (items, next) = await drivers[place.loop].page { read($0, place.slot, limit) }
        let following = place.loop + 1 < drivers.count ? RelayPlace(loop: place.loop + 1, slot: 0) : nil
        return RelayPage(items: items, next: next.map { RelayPlace(loop: place.loop, slot: $0) } ?? following)
    }

    // MARK: - Rooms

    /// The state of a room, which is loaded if it is not in memory.
    ///
    /// - Throws: `notRunning`; `roomNotCreated`; `busy`; `storeUnavailable`.
    public func overview(of room: RoomName) async throws(RoomCommandError) -> RoomOverview {
        guard case .described(let found) = try await perform(.describe, in: room) else { throw .storeUnavailable }
        let own = RoomRetention(
            maxAge: found.maxAge, maxCount: found.maxCount, maxByteCount: found.maxByteCount)
        let retention = own.completed(by: parts.store.retention)
        return RoomOverview(
            room: found.room, memberCount: found.memberCount, log: found.log, head: found.head, first: found.first,
            memoryByteCount: found.memoryByteCount, roleCount: found.roleCount, access: found.access,
            maxAge: retention.maxAge, maxCount: retention.maxCount, maxByteCount: retention.maxByteCount)
    }

    /// Replaces the room's own bounds of retention, which are durable. A bound that is nil is that of the
    /// store; bounds without any number remove those of the room.
    ///
    /// - Throws: `notRunning`; `unsupported` if the store keeps none; `roomNotCreated`; `busy`; `storeUnavailable`.
    public func setRetention(_ bounds: RoomRetention, of room: RoomName) async throws(RoomCommandError) {
        guard parts.store.features.contains(.roomRetention) else { throw .unsupported }
        try await perform(.retain(bounds), in: room)
    }

    /// The relays of the bus, this one first, by identity; none while this one does not run or has no bus.
    public func relays() async -> [PeerRelay] { busPort?.relays() ?? [] }

    /// Drains the relay of the bus with a name, which may be this one, for at most its `Configuration.drainTimeout`
    /// . The method does not wait for it.
    ///
    /// - Returns: Whether one relay has the name; false also if several that are heard have it.
    @discardableResult
    public func drain(relay name: String) async -> Bool {
        // An earlier process of a relay has the same name, and was heard before.
        let known = await relays().filter { $0.name == name }
        guard known.count(where: { $0.isHeard(at: EventLoop.wallClock) }) < 2 else { return false }
        guard let relay = known.max(by: { $0.lastHeardAt ?? .max < $1.lastHeardAt ?? .max }) else { return false }
        if relay.lastHeardAt == nil {
            parts.onEvent(.drainRequested(by: name))
            drivers.first?.loop.startTask { [weak self, parts] in
                _ = await self?.drain(within: parts.configuration.drainTimeout)
            }
        } else {
            perform(.drain(name), at: relay.relay)
        }
        return true
    }

    /// Performs a command at one of the other relays of the bus, or at all.
    func perform(_ command: BusCommand, at relay: RelayID? = nil) {
        guard let port = busPort, let loop = drivers.first?.loop else { return }
        port.perform(command, at: relay, now: Instant(nanoseconds: loop.currentTime))
    }

    /// Ends the links of an account, which may sign in again at once, also at the other relays of the bus (R-198,
    /// Its memberships and roles remain.
    public func kick(_ account: AccountName) async {
        perform(.kick(account))
        await endLinks(of: account)
    }

    /// Ends the links of an account at this relay.
    func endLinks(of account: AccountName) async {
        for driver in drivers { await driver.onLoop { $0.kick(account) } }
    }

    /// Removes an account from a room and refuses it there. The relay has to keep roles.
    ///
    /// - Throws: `notRunning`; `noRoles`; `roomNotCreated`; `busy`; `refused`; `storeUnavailable`.
    public func ban(_ account: AccountName, in room: RoomName) async throws(RoomCommandError) {
        try await perform(.operate(.ban(account)), in: room)
    }

    /// Ends a ban.
    ///
    /// - Throws: The errors of ``ban(_:in:)``.
    public func unban(_ account: AccountName, in room: RoomName) async throws(RoomCommandError) {
        try await perform(.operate(.unban(account)), in: room)
    }

    /// Refuses an account's messages in a room for a number of seconds, at least 1. The relay has to keep roles.
    ///
    /// - Throws: The errors of ``ban(_:in:)``.
    public func mute(_ account: AccountName, seconds: UInt32, in room: RoomName) async throws(RoomCommandError) {
        try await perform(.operate(.mute(account, seconds: max(seconds, 1))), in: room)
    }

    /// Ends a mute.
    ///
    /// - Throws: The errors of ``ban(_:in:)``.
    public func unmute(_ account: AccountName, in room: RoomName) async throws(RoomCommandError) {
        try await perform(.operate(.unmute(account)), in: room)
    }

    /// Publishes a message in the name of the relay in the next rooms in memory, and returns when it is durable there.
    /// Rooms in which it cannot be published are not counted.
    ///
    /// - Throws: `notRunning`; `noServerAccount`; `messageTooLarge`.
    public func announce(
        _ content: MessageContent, from place: RelayPlace? = nil
    ) async throws(RoomCommandError) -> RelayStep {
        let page = await roomsInMemory(from: place)
        var count = 0
        for item in page.items {
            do throws(RoomCommandError) {
                try await publish(content, in: item.room)
                count += 1
            } catch {
                switch error {
                case .notRunning, .noServerAccount, .messageTooLarge: throw error
                case .noRoles, .roomNotCreated, .unsupported, .busy, .storeUnavailable, .refused: break
                }
            }
        }
        return RelayStep(count: count, next: page.next)
    }

    /// Erases the next messages of an account in all rooms of the store, in the order of the rooms' names. The
    /// rooms need not be in memory. A series that ends early can begin again, which erases nothing twice.
    ///
    /// - Throws: `unsupported` if the store has no list of rooms; the errors of ``eraseMessages(of:in:from:)``.
    public func eraseMessages(
        of account: AccountName, from place: RelayPlace? = nil
    ) async throws(RoomCommandError) -> RelayStep {
        guard parts.store.features.contains(.roomList) else { throw .unsupported }
        guard let room = place?.room, let offset = place?.rawValue, offset > 0 else {
            let found = try await list(RoomListRead(after: place?.room, limit: 1, publisher: account))
            guard let room = found.rooms.first?.name else {
                return RelayStep(count: 0, next: found.next.map { RelayPlace(rawValue: 0, room: $0) })
            }
            return try await erase(account, in: room, from: nil)
        }
        return try await erase(account, in: room, from: RelayPlace(rawValue: offset))
    }

    /// A step in a room, behind which the series continues in the next room.
    private func erase(
        _ account: AccountName, in room: RoomName, from place: RelayPlace?
    ) async throws(RoomCommandError) -> RelayStep {
        let step = try await eraseMessages(of: account, in: room, from: place)
        return RelayStep(count: step.count, next: RelayPlace(rawValue: step.next?.rawValue ?? 0, room: room))
    }

    /// Erases the next messages of an account in a room, and returns when their deletions are durable. The last
    /// step removes its attachments, except those that messages of other accounts name.
    ///
    /// - Throws: `notRunning`; `noServerAccount`; `roomNotCreated`; `busy`; `storeUnavailable`. A step that has failed
    ///   can be repeated.
    public func eraseMessages(
        of account: AccountName, in room: RoomName, from place: RelayPlace? = nil
    ) async throws(RoomCommandError) -> RelayStep {
        let entries = try await read(room, after: place, limit: 256, maxByteCount: 256 << 10)
        var found: [MessageReference] = []
        var last: UInt64?
        for entry in entries {
            last = entry.offset
            guard entry.sender == account else {
                try await keepAttachment(of: entry, from: account, in: room)
                continue
            }
            let id = MessageID(sender: entry.sender, device: entry.device, counter: entry.counter)
            guard MessageErasure(offset: entry.offset, id: id).erased(entry) != nil else { continue }
            // The deletion of a message erases its edits too.
            if let target = entry.editTarget, found.contains(where: { $0.id == target }) { continue }
            found.append(MessageReference(id, offset: entry.offset))
            if found.count == AdministrationMethod.maxErasureCount { break }
        }
        if !found.isEmpty { try await perform(.erase(found), in: room) }
        if last == nil {
            try await onAttachments(of: room) { try await $0.removeAll(of: account, in: room) }
        }
        return RelayStep(count: found.count, next: last.map { RelayPlace(rawValue: $0) })
    }

    /// An attachment that a message names counts for the account of the message, if it counts for the one whose
    /// messages are erased (Specs/hostile.md row 121).
    private func keepAttachment(
        of entry: LogEntry, from account: AccountName, in room: RoomName
    ) async throws(RoomCommandError) {
        guard let digest = entry.attachmentDigest else { return }
        try await onAttachments(of: room) {
            try await $0.reassign(digest, in: room, from: account, to: entry.sender)
        }
    }

    private func onAttachments(
        of room: RoomName, _ body: (any AttachmentStore) async throws -> Void
    ) async throws(RoomCommandError) {
        guard let attachments = parts.attachments else { return }
        do { try await body(attachments) } catch {
            parts.onEvent(.storeFailed(room, error))
            throw .storeUnavailable
        }
    }

    /// The next messages of a room, up to 15 KiB but at least one. Their offsets are greater than the value of `place`.
    ///
    /// - Throws: `notRunning`; `storeUnavailable`.
    public func messages(
        of room: RoomName, from place: RelayPlace? = nil, limit: Int = 256
    ) async throws(RoomCommandError) -> RelayPage<LogEntry> {
        let limit = min(max(limit, 1), AdministrationPage.maxMessageCount)
        let byteCount = HistoryPage.maxByteCount - AdministrationPage.maxMessageCount * TLVLimits.headByteCount
        let entries = try await read(room, after: place, limit: limit, maxByteCount: byteCount)
        return RelayPage(items: entries, next: entries.last.map { RelayPlace(rawValue: $0.offset) })
    }

    private func read(
        _ room: RoomName, after place: RelayPlace?, limit: Int, maxByteCount: Int
    ) async throws(RoomCommandError) -> [LogEntry] {
        guard !drivers.isEmpty else { throw .notRunning }
        let (first, isBeyond) = (place?.rawValue ?? 0).addingReportingOverflow(1)
        guard !isBeyond, first <= Int64.max else { return [] }
        let range = ReadRange(from: first, maxCount: limit, maxByteCount: maxByteCount)
        do throws(RoomStoreError) {
            return try await parts.store.call { .read(range, of: room, $0) }.entries
        } catch {
            parts.onEvent(.storeFailed(room, error.cause))
            throw .storeUnavailable
        }
    }
}

extension RelayDriver {
    /// The next links of the loop.
    fileprivate func linkPage(from place: Int, limit: Int) -> (items: [LinkOverview], next: Int?) {
        let page = engine.linkPage(from: place, limit: limit)
        let items = page.slots.map { slot in
            let key = engine.connection(ofLink: slot)
            let peer = key.flatMap { self.peer($0) }
            let address = key.flatMap { acceptor[$0] }?.transport.remoteAddress
            return engine.overview(
                ofLink: slot, agent: peer?.agent, address: address.map { "\($0)" }, since: peer?.since)
        }
        return (items, page.next)
    }
}

extension PeerRelay {
    /// Whether the relay counts as present by the clock of the relay that has listed it, in milliseconds since 1970
    ///
    package func isHeard(at wallClock: UInt64) -> Bool {
        guard let lastHeardAt else { return true }
        return wallClock &- min(lastHeardAt, wallClock) < UInt64(BusPeers.lossTimeout / .milliseconds(1))
    }
}
