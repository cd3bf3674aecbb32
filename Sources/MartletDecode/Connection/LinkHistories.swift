public import MartletWire

/// The histories of the links in an input. The decoders of several connections share one table.
public final class LinkHistories {
    /// The maximum number of links. Beyond it the oldest link is removed.
    public static let maxLinkCount = 4096

    /// The bound on the partial messages of all links.
    let budget = JoinBudget()
    private var links: [LinkID: LinkHistory] = [:]
    private var order: [LinkID] = []

    /// Creates an empty table.
    public init() {}

    /// The history of a link; nil if the link is not in the input or was removed.
    public subscript(id: LinkID) -> LinkHistory? { links[id] }

    /// Inserts the history of a link.
    func insert(_ history: LinkHistory, as id: LinkID) {
        if links.updateValue(history, forKey: id) == nil { order.append(id) }
        if order.count > Self.maxLinkCount { links[order.removeFirst()] = nil }
    }
}
