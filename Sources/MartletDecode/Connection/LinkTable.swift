public import MartletWire

/// The histories of the links in an input, by link, which the decoders of several connections share.
public final class LinkTable {
    /// The most links that are remembered; the oldest one is forgotten first.
    public static let maxLinkCount = 4096

    /// The bytes of partial messages that all links hold together.
    let budget = JoinBudget()
    private var links: [LinkID: LinkHistory] = [:]
    private var order: [LinkID] = []

    /// Creates an empty table.
    public init() {}

    /// The history of a link; `nil` for one that the input has not shown, or that was forgotten.
    public subscript(id: LinkID) -> LinkHistory? { links[id] }

    /// Remembers the history of a link.
    func remember(_ history: LinkHistory, as id: LinkID) {
        if links.updateValue(history, forKey: id) == nil { order.append(id) }
        if order.count > Self.maxLinkCount { links[order.removeFirst()] = nil }
    }
}
