/// The trouble that the demo's link makes, chosen for the text that has to pass it.
struct DemoPlan: Equatable, Sendable {
    /// How often the link is to be cut at the least.
    static let minCutCount = 10
    /// What every line costs on the wire at least, besides its text.
    private static let minOverheadByteCount = 40

    /// The link's trouble.
    var profile: WeakLinkProfile

    /// A plan for a text of so many bytes in so many messages.
    ///
    /// Every connection is cut after the same number of bytes. Each of the two clients has to get at least the text
    /// across, in shares of that number, so both together see at least twelve cuts.
    init(byteCount: Int, messageCount: Int) {
        var profile = WeakLinkProfile(delay: .milliseconds(200), jitter: .milliseconds(50))
        profile.blackHoleAt = .seconds(4)
        profile.blackHoleFor = .seconds(5)
        profile.cutAfterByteCount = max((byteCount + messageCount * Self.minOverheadByteCount) / 7, 1)
        self.profile = profile
    }
}
