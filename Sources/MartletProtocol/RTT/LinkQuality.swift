/// How good a link is, by its smoothed round-trip time.
public enum LinkQuality: Hashable, Sendable, CaseIterable {
    /// Below 100 ms.
    case excellent
    /// Below 300 ms.
    case good
    /// Below 500 ms.
    case fair
    /// Below 800 ms.
    case poor
    /// 800 ms and more.
    case bad
    /// Not measured yet.
    case unknown

    /// The class that a smoothed round-trip time falls into, `unknown` without one.
    public init(roundTrip: Duration?) {
        guard let roundTrip else {
            self = .unknown
            return
        }
        switch roundTrip {
        case ..<(.milliseconds(100)): self = .excellent
        case ..<(.milliseconds(300)): self = .good
        case ..<(.milliseconds(500)): self = .fair
        case ..<(.milliseconds(800)): self = .poor
        default: self = .bad
        }
    }
}
