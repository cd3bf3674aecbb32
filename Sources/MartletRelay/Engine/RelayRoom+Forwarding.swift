import MartletLink
import MartletWire

/// Messages that relays forward to each other in a room in which several publish at the same time.
extension RelayRoom {
    /// Whether an append was refused of late.
    var usesForwarding: Bool { forwarding.isAllocated }

    /// The instant until which messages wait for a different relay; nil if none do.
    var forwardingDeadline: Instant? {
        usesForwarding && isBusy && publication.mayStore && !awaitsRoles ? forwarding.value.deadline : nil
    }

    /// Whether the relay appends its waiting messages in this turn of the loop. Others are forwarded.
    mutating func beginAppend(now: Instant, into effects: inout Deque<RoomEffect>) -> Bool {
        guard usesForwarding else { return true }
        guard !forwarding.value.isOver else {
            forwarding.release()
            return true
        }
        guard !awaitsRoles else { return false }
        guard isBusy, publication.mayStore else {
            return forwarding.value.begin(waitingCount: 0, mayForward: false, now: now) == .append
        }
        let waiting = publication.forwardable
        var decision = forwarding.value.begin(
            waitingCount: publication.entryCount, mayForward: waiting != nil, now: now)
        if case .forward(let relay, after: let count) = decision {
            if let waiting, let items = forwarded(waiting, after: count) {
                for item in items { effects.append(.bus(BusMessage(item, to: relay))) }
                return false
            }
            decision = forwarding.value.gather(now: now)
        }
        guard decision == .append else { return false }
        // The appender gives time for the messages that it does not append.
        if let relay = forwarding.value.appender, let id = log.id {
            let item = BusEntries(room: name, log: id, offset: log.lastOffset &+ 1, batch: nil)
            effects.append(.bus(BusMessage(.forwarded(item, after: 0), to: relay)))
        }
        return true
    }

    /// The waiting messages after the first ones, consecutive ones of a device in items of their own; nil if one
    /// fits into no item.
    private func forwarded(_ waiting: ArraySlice<LogEntry>, after count: Int) -> [BusItem]? {
        guard let log = log.id else { return nil }
        var counters: [Int32: UInt64] = [:]
        for entry in waiting.prefix(count) { counters[entry.window] = entry.counter }
        var items: [BusItem] = []
        var rest = waiting.dropFirst(count)
        while let first = rest.first {
            let run = rest.prefix { $0.window == first.window }
            guard let parts = busParts(of: run) else { return nil }
            for part in parts {
                let counter = counters[first.window] ?? windows[Int(first.window)].watermark
                items.append(.forwarded(busEntries(part, of: log), after: counter))
                counters[first.window] = part.last?.counter
            }
            rest = rest.dropFirst(run.count)
        }
        return items
    }

    /// Messages of a device at a different relay, which has admitted them and leaves their append to this one. That
    /// relay appends those itself which this one does not take, and asks for time for that without messages.
    ///
    /// - Parameter counter: The counter of the message of the device before them. A message that was lost would follow
    ///   them otherwise.
    mutating func receive(forwarded item: BusEntries, after counter: UInt64, from relay: RelayID, at now: UInt64) {
        guard case .ready = state, item.log == log.id, !isUncreated else { return }
        forwarding.value.received(from: relay)
        guard let entries = item.entries, let first = entries.first else { return }
        let device = DeviceKey(account: first.sender, device: first.device)
        guard let window = windows[device] ?? addWindow(device, at: now) else { return }
        windows.use(window, at: now)
        var before = counter
        for entry in entries where entry.hasSameDevice(as: first) {
            let digest = entry.contentDigest
            switch windows[window].find(entry.counter, digest: digest) {
            case .duplicate: break
            // The messages after one that is not taken would overtake it.
            case .new where before == windows[window].lastAppended && mayAppend(forwarded: entry):
                append(forwarded: entry, in: window, digest: digest)
            case .new, .reused, .tooOld, .tooFarAhead: return
            }
            before = entry.counter
        }
    }

    private func mayAppend(forwarded entry: LogEntry) -> Bool {
        guard !publication.isFull else { return false }
        if usesRoles, moderation.roles?.mayPublish(entry.sender, RoomPermissions(), at: entry.acceptedAt) == false {
            return false
        }
        guard let change = entry.change else { return true }
        return permits(change, by: entry.sender, RoomPermissions()) && mayErase(by: change, of: entry.sender)
    }

    private mutating func append(forwarded entry: LogEntry, in window: Int, digest: UInt16) {
        let (account, change) = (entry.sender, entry.change)
        let offset = publication.lastOffset(durable: log.lastOffset) &+ 1
        let own = entry.moved(to: offset, window: Int32(window), digest: digest)
        addWaiting(own, of: Publication.Part(publisher: forwarderHandle, window: window))
        windows[window].append([own])
        if let change { note(change, of: account, at: offset) }
    }
}
