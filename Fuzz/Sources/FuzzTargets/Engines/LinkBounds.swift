import MartletWire

@testable import MartletLink
@testable import MartletRelay

/// The maximum state of one link for any peer.
enum LinkBounds {
    /// The maximum number of queued control frames of the link: pongs and timed pings.
    private static let maxControlFrames = Link.maxQueuedPongs + 8

    static func check(_ server: borrowing ServerLink, _ device: borrowing RelayLink) {
        check(server.link)
        var queued = 0
        for slot in server.link.sessions.liveSlots {
            queued += server.link.sessions[slot].send.byteCount
            queued += server.link.sessions[slot].send.count * RelayLink.entryByteCount
        }
        // The excess beyond the bounds: the last message that fitted, of bulk and of interactive sessions, the first
        // request, and frames other than messages. The link's own frames on its sessions are bounded by count.
        let last =
            RelayLink.maxRequestByteCount + 3 * (server.link.limits.maxMessageByteCount + RelayStamp.maxByteCount)
        let own = 2 * Link.maxSessions * (RelayLink.entryByteCount + 64) + SendStream.maxEntries * 64
        let most = RelayLink.maxQueuedByteCount + RelayLink.maxOthersByteCount + last + own
        hold(queued <= most, "\(queued) bytes wait for a device")
        hold(device.sessions.count <= Link.maxSessions, "\(device.sessions.count) sessions are members")
        let credited = device.sessions.values.reduce(0) { $0 + $1.held.creditByteCount }
        hold(credited <= server.link.limits.linkWindow, "\(credited) bytes of credit wait for their rooms")
        let uncredited = device.sessions.values.reduce(0) { $0 + $1.held.uncreditedCost }
        hold(uncredited <= RelayLink.maxHeldByteCount, "\(uncredited) bytes without credit wait for their rooms")
        hold(uncredited == device.heldByteCount, "\(uncredited) bytes are counted as \(device.heldByteCount)")
    }

    static func check(_ link: borrowing Link) {
        let limits = link.limits
        hold(link.connection.control.count <= maxControlFrames, "\(link.connection.control.count) control frames wait")
        hold(link.sessionCount <= Link.maxSessions, "\(link.sessionCount) sessions")
        hold(
            link.recentlyEndedCount <= RecentlyEndedSessions.maxCount,
            "\(link.recentlyEndedCount) sessions are remembered")
        hold(link.heldByteCount <= limits.linkWindow, "\(link.heldByteCount) bytes are held out of order")
        hold(link.heldByteCount >= 0 && link.receiveCredit.assemblingByteCount >= 0, "a held byte count is negative")
        var held = 0
        var assembling = 0
        for slot in link.sessions.liveSlots {
            held += link.sessions[slot].receive.heldByteCount
            assembling += link.sessions[slot].receive.assemblingByteCount
            let transientCount = link.sessions[slot].transients.count
            hold(transientCount <= Session.maxTransients, "\(transientCount) transient frames wait")
        }
        hold(held == link.heldByteCount, "\(held) bytes out of order are counted as \(link.heldByteCount)")
        let counted = link.receiveCredit.assemblingByteCount
        hold(assembling == counted, "\(assembling) bytes are counted as \(counted)")
        hold(
            assembling <= limits.linkWindow + limits.maxMessageByteCount, "\(assembling) bytes of incomplete messages")
    }
}
