/// Which headers a type of frame may have: the columns of the specification's table.
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

    /// Whether it is kept until acknowledged; if not, its sequence is 0.
    public let isReliable: Bool
    /// Where it may travel.
    public let scope: Scope
    /// Whether it belongs to the handshake, and so is never compressed.
    public let isHandshake: Bool

    /// Whether a header keeps the rule: the flag, the session, no sequence and no fragments without reliability, no
    /// compression in the handshake.
    public func allows(_ header: FrameHeader) -> Bool {
        guard header.flags.contains(.reliable) == isReliable else { return false }
        if !isReliable {
            guard header.sequence == 0, !header.flags.contains(.moreFragments) else { return false }
        }
        if isHandshake, header.compression != .none { return false }
        switch scope {
        case .control: return header.session == .control
        case .session: return header.session != .control
        case .any: return true
        }
    }
}

extension FrameType {
    /// The type's rule; nil when version 1.0 does not know the type.
    public var rule: FrameRule? {
        switch self {
        case .data, .receipt, .accepted, .gap, .open, .opened, .close, .suspend, .resume:
            FrameRule(isReliable: true, scope: .session, isHandshake: false)
        case .transient: FrameRule(isReliable: false, scope: .session, isHandshake: false)
        case .ack, .ping, .pong, .goaway: FrameRule(isReliable: false, scope: .control, isHandshake: false)
        case .hello, .welcome, .reject: FrameRule(isReliable: false, scope: .control, isHandshake: true)
        case .reset: FrameRule(isReliable: true, scope: .control, isHandshake: false)
        case .request, .response, .cancel: FrameRule(isReliable: true, scope: .any, isHandshake: false)
        default: nil
        }
    }
}
