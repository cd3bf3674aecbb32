import MartletWire

/// How links of devices begin, get and lose connections, and end.
extension RelayEngine {
    /// Ends the link that a device has, because it begins another, and tells its connection (one link a device; C-2,
    /// C-39).
    mutating func removeLink(of who: DeviceKey, now: Instant) {
        guard let older = linkOfDevice.find(who, where: { links[$0].who == who }) else { return }
        if let connection = links[older].connection {
            say(.goaway, Notice(code: .replaced), on: connection, now: now)
        }
        remove(older, now: now)
    }

    /// Makes a place for one more link of an account; when there is none, why. An account that has as many links as it
    /// may loses the one that has been suspended for longest: that harms that account only (C-64,
    /// Specs/hostile.md row 33).
    mutating func makePlace(forLinkOf account: Int32, now: Instant) -> ErrorCode? {
        if accounts.linkCount(account) >= configuration.maxLinksPerAccount {
            guard let oldest = accounts.oldestSuspended(of: account), let slot = slot(oldest) else {
                return .tooManyLinks
            }
            remove(slot, now: now)
        }
        return counted.links < configuration.maxLinks && !memory.isFull ? nil : .serverBusy
    }

    /// A fresh link for a device that has none.
    mutating func makeLink(
        for who: DeviceKey, of account: Int32, _ limits: Limits, _ features: Features, _ token: TokenDigest,
        now: Instant
    ) -> Int {
        generation &+= 1
        nextLinkID &+= 1
        let id = LinkID(rawValue: nextLinkID)
        let slot = links.insert(
            RelayLink(
                key: LinkKey(slot: Int32(links.nextSlot), generation: generation, loop: place.number), id: id, who: who,
                account: account,
                link: Link(
                    role: .relay, limits: limits, features: features, began: now,
                    firstSequence: configuration.firstSequence),
                token: token))
        linkOfDevice.insert(who, slot)
        linkOfID.insert(id, slot)
        counted.links += 1
        links[slot].link.unproductive = accounts.unproductive(account)
        accounts.addLink(links[slot].key, of: account)
        return slot
    }

    mutating func attach(_ link: Int, to connection: Int, now: Instant) {
        if links[link].suspendedAt != nil {
            suspendedCount -= 1
            accounts.unsuspend(links[link].key, of: links[link].account)
        }
        links[link].suspendedAt = nil
        dropEndedSuspensions()
        links[link].connection = connection
        links[link].link.attach(connections[connection].carrier, isEarly: false, now: now)
        connections[connection].phase = .attached(link: link)
        connections[connection].limitBodies(to: links[link].link.limits.maxBodyByteCount)  // W-7
        links[link].link.deflatesPackets = configuration.deflatesPackets
        links[link].packetReader = nil
        for handle in links[link].handles { call(.setAway(handle, false)) }
    }

    /// The connection's link goes on without it for a while.
    mutating func detach(_ connection: Int, now: Instant) {
        guard let slot = connections[connection].linkSlot, links.isLive(slot), links[slot].connection == connection
        else { return }
        links[slot].connection = nil
        links[slot].packetReader = nil
        links[slot].link.detach()
        links[slot].releaseIdleMemory()
        noteSuspended(slot, now: now)
        outputs.append(.note(.suspended(links[slot].who, links[slot].id), on: key(connection)))
        for handle in links[slot].handles { call(.setAway(handle, true)) }
        boundSuspended(now: now)
    }

    /// A link is gone for good: its sessions leave their rooms.
    mutating func remove(_ slot: Int, now: Instant) {
        guard let link = links.find(slot) else { return }
        if let connection = link.connection { connections[connection].phase = .closing }
        if link.suspendedAt != nil {
            suspendedCount -= 1
            accounts.unsuspend(link.key, of: link.account)
        }
        accounts.noteUnproductive(link.link.unproductive, of: link.account)
        accounts.removeLink(link.key, of: link.account, now: now)
        for (session, membership) in zip(link.sessions.keys, link.sessions.values) {
            leave(membership, MemberKey(link: link.key, session: session))
        }
        memory.changeLinks(by: -link.chargedByteCount)
        timers.cancel(TimerKey.link(slot))
        linkOfDevice.remove(link.who, slot)
        linkOfID.remove(link.id, slot)
        links.remove(slot)
        counted.links -= 1
        outputs.append(.note(.ended(link.who, link.id), on: link.connection.map { key($0) }))
    }

    mutating func slot(_ key: LinkKey) -> Int? {
        let slot = Int(key.slot)
        return links.isLive(slot) && links[slot].key == key ? slot : nil
    }
}
