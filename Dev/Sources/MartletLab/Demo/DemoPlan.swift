/// The faults of the demo's link, chosen for the size of the text.
struct DemoPlan: Equatable, Sendable {
    /// The minimum number of cuts.
    static let minCutCount = 10
    /// The minimum number of bytes of a line's frame beside its text.
    private static let minOverheadByteCount = 40

    /// The faults of the link.
    var profile: WeakLinkProfile

    /// Creates the plan for a text.
    ///
    /// Each connection is cut after the same number of bytes, one seventh of the traffic of one client. The two clients
    /// together therefore cause at least twelve cuts.
    init(byteCount: Int, messageCount: Int) {
        var profile = WeakLinkProfile(delay: .milliseconds(200), jitter: .milliseconds(50))
        profile.blackHoleAt = .seconds(4)
        profile.blackHoleFor = .seconds(5)
        profile.cutAfterByteCount = max((byteCount + messageCount * Self.minOverheadByteCount) / 7, 1)
        self.profile = profile
    }
}
