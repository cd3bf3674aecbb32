/// The quality of a link, determined by its smoothed round-trip time.
public enum LinkQuality: Hashable, Sendable, CaseIterable {
    /// A round-trip time below 100 ms.
    case excellent
    /// A round-trip time from 100 ms to below 300 ms.
    case good
    /// A round-trip time from 300 ms to below 500 ms.
    case fair
    /// A round-trip time from 500 ms to below 800 ms.
    case poor
    /// A round-trip time of 800 ms or more.
    case bad
    /// No measured round-trip time.
    case unknown

    /// Creates the quality for a smoothed round-trip time; `unknown` for nil.
    package init(roundTrip: Duration?) {
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
