package import MartletWire

/// The credit of a link and of its sessions as one endpoint counts it, for comparison with the other endpoint: the
/// credit that one has used, the other has received (S-36, S-38).
package struct CreditTable: Sendable {
    /// The credit in bytes since the start of the link or session.
    package struct Totals: Equatable, Sendable {
        /// The credit used for sent frames.
        package var used: UInt64
        /// The credit of received frames.
        package var received: UInt64
        /// The credit released to the peer.
        package var released: UInt64

        /// Creates totals.
        package init(used: UInt64, received: UInt64, released: UInt64) {
            self.used = used
            self.received = received
            self.released = released
        }
    }

    /// The credit of the link.
    package let link: Totals
    /// The credit of the sessions.
    package let sessions: [SessionID: Totals]

    /// Creates a table.
    package init(link: Totals, sessions: [SessionID: Totals]) {
        self.link = link
        self.sessions = sessions
    }

    package init(_ link: borrowing Link) {
        self.link = Totals(
            used: link.sendCredit.used, received: link.receiveCredit.received, released: link.receiveCredit.released)
        var sessions: [SessionID: Totals] = [:]
        for slot in link.sessions.liveSlots {
            sessions[link.sessions[slot].id] = Totals(
                used: link.sessions[slot].send.creditUsed, received: link.sessions[slot].receive.creditReceived,
                released: link.sessions[slot].receive.creditReleased)
        }
        self.sessions = sessions
    }

    /// Returns the differences between the endpoints of a quiescent link, one line each.
    package func differences(from peer: CreditTable) -> [String] {
        var lines: [String] = []
        func compare(_ name: String, _ own: Totals?, _ other: Totals?) {
            guard let own, let other else { return lines.append("\(name) is known to one endpoint") }
            if own.used != other.received { lines.append("\(name): \(own.used) used, \(other.received) received") }
            if other.used != own.received { lines.append("\(name): \(other.used) used, \(own.received) received") }
        }
        compare("link", link, peer.link)
        for id in Set(sessions.keys).union(peer.sessions.keys).sorted(by: { $0.rawValue < $1.rawValue }) {
            compare("session \(id.rawValue)", sessions[id], peer.sessions[id])
        }
        return lines
    }
}
