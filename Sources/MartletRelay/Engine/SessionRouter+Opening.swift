import MartletLink
import MartletWire

/// Sessions that devices open on rooms.
extension SessionRouter {
    /// Passes an open to its room, after the decision of the room policy if there is one.
    mutating func join(_ open: Open, _ session: SessionID, of slot: Int, now: Instant) {
        if open.kind == .account { return openAccount(open, session, of: slot, now: now) }
        let owner: SessionOwner = open.kind == .attachment ? .attachment : .member
        // A session of this kind is opened only with the feature.
        if owner == .attachment, !links[slot].link.features.contains(.attachments) {
            return links[slot].link.reset(session, code: .unsupportedKind)
        }
        if isOpen(open.room, by: owner, onLink: slot) {
            return links[slot].link.reset(session, code: .alreadyOpen)
        }
        // S-4, R-54, Specs/hostile.md rows 44 and 54
        let wait = relayLinks.waitsUntil(slot, now: now) ?? relayLinks.takeOpen(slot, now: now)
        if let wait {
            return links[slot].link.reset(session, code: .serverBusy, retryAfter: wait.retryAfter(now: now))
        }
        let membership = RelayLink.Membership(
            owner: owner, room: open.room, isBulk: SessionPreset(open.kind).priority.isBulk,
            creditLimit: links[slot].link.messageCreditLimit(of: session))
        relayLinks.addSession(session, membership, of: slot)
        if configuration.asksRoomPolicy {
            askPolicy(about: session, of: slot, open: open, now: now)
        } else {
            join(open, session, .all, of: slot)
        }
    }

    /// Passes an open to its room.
    mutating func join(_ open: Open, _ session: SessionID, _ permissions: RoomPermissions, of slot: Int) {
        let window = SessionPreset(open.kind).windowByteCount(links[slot].link.limits)
        rooms.call(
            .join(
                JoinRequest(
                    member: MemberKey(link: links[slot].key, session: session), who: links[slot].who, open: open,
                    features: links[slot].link.features, isBacklogged: true, permissions: permissions,
                    creditByteCount: RoomMember.creditByteCount(ofWindow: window))))
    }

    /// Whether a link has a session of an owner on a room.
    private mutating func isOpen(_ room: RoomName, by owner: SessionOwner, onLink slot: Int) -> Bool {
        // The room's index finds the sessions that it has admitted, without a comparison of names.
        let admitted = rooms.local.index(of: room)
        for index in relayLinks[slot].sessions.indices
        where relayLinks[slot].sessions[at: index].owner == owner {
            if let name = relayLinks[slot].sessions[at: index].room {
                if name == room { return true }
            } else if let handle = relayLinks[slot].sessions[at: index].handle, Int(handle.room) == admitted,
                rooms.local.isMember(handle)
            {
                return true
            }
        }
        return false
    }
}
