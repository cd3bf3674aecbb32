/// Which headers a type of frame may have: the columns of the specification's table (W-74).
public struct FrameRule: Hashable, Sendable {
    /// Where a frame may travel.
    public enum Scope: Sendable {
        /// On the link's own session only.
        case control
        /// On a session that was opened, or is being opened by this frame.
        case session
        /// On either.
        case any
    }

    /// Whether it is kept until acknowledged; if not, its sequence is 0 (W-13).
    public let isReliable: Bool
    /// Where it may travel.
    public let scope: Scope
    /// Whether it may be cut into fragments (W-21, S-42).
    public let isCut: Bool
    /// Whether it belongs to the handshake, and so is never compressed (W-20, Specs/hostile.md row 16).
    public let isHandshake: Bool
    /// Whether a server sends it and a client does not, beside those of the handshake (W-74).
    public let isOfServer: Bool

    init(
        isReliable: Bool, scope: Scope, isCut: Bool = false, isHandshake: Bool = false, isOfServer: Bool = false
    ) {
        self.isReliable = isReliable
        self.scope = scope
        self.isCut = isCut
        self.isHandshake = isHandshake
        self.isOfServer = isOfServer
    }

    /// Whether a header keeps the rule: the flag, the session, no sequence without reliability, fragments only of what
    /// is cut, no compression in the handshake.
    public func allows(_ header: FrameHeader) -> Bool {
        guard header.flags.contains(.reliable) == isReliable else { return false }
        guard isReliable || header.sequence == 0, isCut || !header.flags.contains(.moreFragments) else { return false }
        if isHandshake, header.compression != .none { return false }
        switch scope {
        case .control: return header.session == .control
        case .session: return header.session != .control
        case .any: return true
        }
    }
}
