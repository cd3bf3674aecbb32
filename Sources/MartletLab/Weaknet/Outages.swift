/// When nothing passes a link: the stalls and the black hole, as a function of time alone.
struct Outages: Equatable, Sendable {
    private let stallEvery: Duration?
    private let stallFor: Duration
    private let blackHole: Range<Duration>?

    init(_ profile: WeakLinkProfile) {
        stallEvery = profile.stallEvery
        stallFor = profile.stallFor
        blackHole = profile.blackHoleAt.map { $0..<$0 + profile.blackHoleFor }
    }

    /// The first moment, not before `time`, at which bytes pass.
    func firstOpening(from time: Duration) -> Duration {
        var time = time
        while let end = end(ofOutageAt: time) { time = end }
        return time
    }

    /// Whether the black hole is open.
    func isBlackHole(at time: Duration) -> Bool { blackHole?.contains(time) ?? false }

    private func end(ofOutageAt time: Duration) -> Duration? {
        if let blackHole, blackHole.contains(time) { return blackHole.upperBound }
        guard let stallEvery, time >= stallEvery else { return nil }
        let begin = stallEvery * Int((time / stallEvery).rounded(.down))
        return time >= begin && time < begin + stallFor ? begin + stallFor : nil
    }
}
