/// The rule for the headers of a frame type: its row in the table of Specs/wire.md §13.1 (W-74).
package struct FrameRule: Hashable, Sendable {
    /// The sessions on which a frame may be sent.
    package enum Scope: Sendable {
        /// The control session only.
        case control
        /// Any session other than the control session. It is open, or the frame opens it.
        case session
        /// Any session.
        case any
    }

    /// Whether frames of the type are kept until acknowledged. The sequence of other frames is 0 (W-13).
    package let isReliable: Bool
    /// The sessions on which frames of the type may be sent.
    package let scope: Scope
    /// Whether a body may be sent in fragments (W-21, S-42).
    package let allowsFragments: Bool
    /// Whether the type belongs to the handshake, whose frames are never compressed (W-20, Specs/hostile.md row 16).
    package let isHandshake: Bool
    /// Whether only a server sends the type. This is false for the types of the handshake (W-74).
    package let isServerOnly: Bool

    init(
        isReliable: Bool, scope: Scope, allowsFragments: Bool = false, isHandshake: Bool = false,
        isServerOnly: Bool = false
    ) {
        self.isReliable = isReliable
        self.scope = scope
        self.allowsFragments = allowsFragments
        self.isHandshake = isHandshake
        self.isServerOnly = isServerOnly
    }

    /// Returns whether a header satisfies the rule: its flag `reliable`, its session, the sequence 0 if it is
    /// unreliable, no fragments of other types, and no compression in the handshake.
    package func allows(_ header: FrameHeader) -> Bool {
        guard header.flags.contains(.reliable) == isReliable else { return false }
        guard isReliable || header.sequence == 0, allowsFragments || !header.flags.contains(.moreFragments) else {
            return false
        }
        if isHandshake, header.compression != .none { return false }
        switch scope {
        case .control: return header.session == .control
        case .session: return header.session != .control
        case .any: return true
        }
    }
}
