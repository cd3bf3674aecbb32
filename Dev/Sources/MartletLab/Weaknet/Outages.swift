/// The intervals in which a link transfers no bytes, the stalls and the black hole, as a function of time.
struct Outages: Equatable, Sendable {
    private let stallEvery: Duration?
    private let stallFor: Duration
    private let blackHole: Range<Duration>?

    init(_ profile: WeakLinkProfile) {
        stallEvery = profile.stallEvery
        stallFor = profile.stallFor
        blackHole = profile.blackHoleAt.map { $0..<$0 + profile.blackHoleFor }
    }

    /// Returns the first time, `time` or later, at which bytes are transferred.
    func firstOpening(from time: Duration) -> Duration {
        var time = time
        while let end = end(ofOutageAt: time) { time = end }
        return time
    }

    /// Returns whether the black hole is in effect.
    func isBlackHole(at time: Duration) -> Bool { blackHole?.contains(time) ?? false }

    private func end(ofOutageAt time: Duration) -> Duration? {
        if let blackHole, blackHole.contains(time) { return blackHole.upperBound }
        guard let stallEvery, time >= stallEvery else { return nil }
        let begin = stallEvery * Int((time / stallEvery).rounded(.down))
        return time >= begin && time < begin + stallFor ? begin + stallFor : nil
    }
}
