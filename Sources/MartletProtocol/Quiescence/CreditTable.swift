package import MartletWire

/// Credit of a link and of its sessions as one end counts it, to be held against the other end's: what one has used,
/// the other has received and given back (S-36, S-38).
package struct CreditTable: Sendable {
    /// Bytes since the link or the session began.
    package struct Totals: Equatable, Sendable {
        /// Used for what was sent.
        package var used: UInt64
        /// Received from the peer.
        package var received: UInt64
        /// Given back to the peer.
        package var released: UInt64

        /// Totals as they were counted.
        package init(used: UInt64, received: UInt64, released: UInt64) {
            self.used = used
            self.received = received
            self.released = released
        }
    }

    /// The link's.
    package let link: Totals
    /// The sessions'.
    package let sessions: [SessionID: Totals]

    /// Credit as it was counted.
    package init(link: Totals, sessions: [SessionID: Totals]) {
        self.link = link
        self.sessions = sessions
    }

    init(_ link: Link) {
        self.link = Totals(
            used: link.sendCredit.used, received: link.receiveCredit.received, released: link.receiveCredit.released)
        var sessions: [SessionID: Totals] = [:]
        for session in link.sessions where session.isLive {
            sessions[session.id] = Totals(
                used: session.send.creditUsed, received: session.receive.creditReceived,
                released: session.receive.creditReleased)
        }
        self.sessions = sessions
    }

    /// Where two ends of a link that has nothing under way disagree, one line each.
    package func differences(from peer: CreditTable) -> [String] {
        var lines: [String] = []
        func compare(_ what: String, _ own: Totals?, _ other: Totals?) {
            guard let own, let other else { return lines.append("\(what) is known to one end") }
            if own.used != other.received { lines.append("\(what): \(own.used) used, \(other.received) received") }
            if other.used != own.received { lines.append("\(what): \(other.used) used, \(own.received) received") }
        }
        compare("link", link, peer.link)
        for id in Set(sessions.keys).union(peer.sessions.keys).sorted(by: { $0.rawValue < $1.rawValue }) {
            compare("session \(id.rawValue)", sessions[id], peer.sessions[id])
        }
        return lines
    }
}
