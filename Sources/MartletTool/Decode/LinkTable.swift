import MartletWire

/// The links that a capture shows, by their IDs, so that a connection that resumes one goes on with what is known of
/// it.
final class LinkTable {
    /// The most links that are remembered; the one that came first is forgotten first.
    static let maxLinkCount = 4096

    /// How much of incomplete messages all links hold together.
    let budget = JoinBudget()
    private var links: [LinkID: LinkHistory] = [:]
    private var order: [LinkID] = []

    /// What is known of the link.
    subscript(id: LinkID) -> LinkHistory? { links[id] }

    /// Remembers what is known of a link.
    func remember(_ history: LinkHistory, as id: LinkID) {
        if links.updateValue(history, forKey: id) == nil { order.append(id) }
        if order.count > Self.maxLinkCount { links[order.removeFirst()] = nil }
    }
}
