package import MartletWire

/// The reason for which a link, a connection or a session ends, and which endpoint failed.
package struct LinkError: Error, Hashable, Sendable {
    /// The scope of the error: a session, this connection, or the whole link.
    package var scope: ErrorScope
    /// The code that is sent to the peer.
    package var code: ErrorCode
    /// The endpoint that failed.
    package var origin: ErrorOrigin

    /// An error with its scope, code and origin.
    package init(scope: ErrorScope, code: ErrorCode, origin: ErrorOrigin) {
        self.scope = scope
        self.code = code
        self.origin = origin
    }

    /// The peer violated a rule of the connection: the connection ends with a notice; the link resumes on another.
    package static func peer(_ code: ErrorCode) -> LinkError {
        LinkError(scope: .connection, code: code, origin: .peer)
    }

    /// The peer violated a rule of one session, which is reset; the others continue.
    package static func session(_ code: ErrorCode) -> LinkError {
        LinkError(scope: .session, code: code, origin: .peer)
    }

    /// A local bound was reached in one session.
    package static func local(_ code: ErrorCode) -> LinkError {
        LinkError(scope: .session, code: code, origin: .local)
    }

    /// Creates the error of a body that does not parse.
    package init(_ error: WireError) {
        self.init(scope: error.scope, code: error.code, origin: error.origin)
    }
}
