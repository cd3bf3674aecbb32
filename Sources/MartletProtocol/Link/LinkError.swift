public import MartletWire

/// Why a link, a connection or one session of it has to end, who failed, and how far it spreads.
public struct LinkError: Error, Hashable, Sendable {
    /// How far the failure spreads: a session, this connection, or the whole link.
    public var scope: ErrorScope
    /// What is said to the peer.
    public var code: ErrorCode
    /// Who failed.
    public var origin: ErrorOrigin

    /// An error with its scope, code and origin.
    public init(scope: ErrorScope, code: ErrorCode, origin: ErrorOrigin) {
        self.scope = scope
        self.code = code
        self.origin = origin
    }

    /// The peer broke a rule of the connection: it is told and the connection ends; the link resumes on another.
    public static func peer(_ code: ErrorCode) -> LinkError {
        LinkError(scope: .connection, code: code, origin: .peer)
    }

    /// The peer broke a rule of one session, which is reset; the others do not notice.
    public static func session(_ code: ErrorCode) -> LinkError {
        LinkError(scope: .session, code: code, origin: .peer)
    }

    /// A bound of our own was met in one session.
    public static func local(_ code: ErrorCode) -> LinkError {
        LinkError(scope: .session, code: code, origin: .local)
    }

    /// A body that does not parse: as far as the wire's own error says.
    public init(_ error: WireError) {
        self.init(scope: error.scope, code: error.code, origin: error.origin)
    }
}
