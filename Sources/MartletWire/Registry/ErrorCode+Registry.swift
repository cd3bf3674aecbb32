// Generated from Specs/registry.json by Scripts/generate-registries. Do not edit.

extension ErrorCode {
    /// No error; success in a response.
    @inlinable
    public static var none: ErrorCode { ErrorCode(rawValue: 0x0000) }
    /// The stream does not start a frame where one must start.
    @inlinable
    public static var badMagic: ErrorCode { ErrorCode(rawValue: 0x0101) }
    /// The major version is not spoken here.
    @inlinable
    public static var unsupportedVersion: ErrorCode { ErrorCode(rawValue: 0x0102) }
    /// The body's length is beyond the negotiated limit.
    @inlinable
    public static var frameTooLarge: ErrorCode { ErrorCode(rawValue: 0x0103) }
    /// The first frame is not a hello.
    @inlinable
    public static var expectedHello: ErrorCode { ErrorCode(rawValue: 0x0104) }
    /// The handshake took too long.
    @inlinable
    public static var handshakeTimeout: ErrorCode { ErrorCode(rawValue: 0x0105) }
    /// The peer did not authenticate in time.
    @inlinable
    public static var authTimeout: ErrorCode { ErrorCode(rawValue: 0x0106) }
    /// The checksum is wrong or missing.
    @inlinable
    public static var badChecksum: ErrorCode { ErrorCode(rawValue: 0x0107) }
    /// The stream ended inside a frame.
    @inlinable
    public static var unexpectedEOF: ErrorCode { ErrorCode(rawValue: 0x0108) }
    /// Flag bits are set that version 1.0 reserves.
    @inlinable
    public static var reservedBits: ErrorCode { ErrorCode(rawValue: 0x0109) }
    /// A frame type or tag is unknown and critical.
    @inlinable
    public static var unknownCritical: ErrorCode { ErrorCode(rawValue: 0x010A) }
    /// A field is longer than what holds it.
    @inlinable
    public static var malformedTLV: ErrorCode { ErrorCode(rawValue: 0x010B) }
    /// Containers are nested too deep.
    @inlinable
    public static var tlvTooDeep: ErrorCode { ErrorCode(rawValue: 0x010C) }
    /// A frame has too many fields.
    @inlinable
    public static var tooManyTLVs: ErrorCode { ErrorCode(rawValue: 0x010D) }
    /// A compressed body grows beyond the limit.
    @inlinable
    public static var inflateLimit: ErrorCode { ErrorCode(rawValue: 0x010E) }
    /// A compressed body is damaged.
    @inlinable
    public static var inflateFailed: ErrorCode { ErrorCode(rawValue: 0x010F) }
    /// Compression is unknown, or forbidden here.
    @inlinable
    public static var compressionNotAllowed: ErrorCode { ErrorCode(rawValue: 0x0110) }
    /// Too many control frames in too short a time.
    @inlinable
    public static var controlFlood: ErrorCode { ErrorCode(rawValue: 0x0111) }
    /// Sessions are opened and closed too fast.
    @inlinable
    public static var churnLimit: ErrorCode { ErrorCode(rawValue: 0x0112) }
    /// Something was acknowledged that was never sent.
    @inlinable
    public static var ackUnsent: ErrorCode { ErrorCode(rawValue: 0x0113) }
    /// Nothing was acknowledged for too long.
    @inlinable
    public static var ackTimeout: ErrorCode { ErrorCode(rawValue: 0x0114) }
    /// The peer reads too slowly.
    @inlinable
    public static var slowConsumer: ErrorCode { ErrorCode(rawValue: 0x0115) }
    /// A sequence is beyond the window.
    @inlinable
    public static var outOfWindow: ErrorCode { ErrorCode(rawValue: 0x0116) }
    /// A newer connection carries the link.
    @inlinable
    public static var staleEpoch: ErrorCode { ErrorCode(rawValue: 0x0117) }
    /// A frame was not complete in time.
    @inlinable
    public static var frameTimeout: ErrorCode { ErrorCode(rawValue: 0x0118) }
    /// Too many unknown frames or fields.
    @inlinable
    public static var unknownFlood: ErrorCode { ErrorCode(rawValue: 0x0119) }
    /// A frame came that its sender may not send now.
    @inlinable
    public static var protocolViolation: ErrorCode { ErrorCode(rawValue: 0x011A) }
    /// The hello is incomplete or contradictory.
    @inlinable
    public static var invalidHello: ErrorCode { ErrorCode(rawValue: 0x011B) }
    /// The peer showed no life.
    @inlinable
    public static var idleTimeout: ErrorCode { ErrorCode(rawValue: 0x011C) }
    /// The credential is not accepted.
    @inlinable
    public static var unauthenticated: ErrorCode { ErrorCode(rawValue: 0x0201) }
    /// The account may not do this.
    @inlinable
    public static var forbidden: ErrorCode { ErrorCode(rawValue: 0x0202) }
    /// The link cannot be resumed; a new one may start.
    @inlinable
    public static var resumeRejected: ErrorCode { ErrorCode(rawValue: 0x0203) }
    /// The credential was revoked.
    @inlinable
    public static var revoked: ErrorCode { ErrorCode(rawValue: 0x0204) }
    /// Another connection took the link.
    @inlinable
    public static var replaced: ErrorCode { ErrorCode(rawValue: 0x0205) }
    /// The secure channel could not be made.
    @inlinable
    public static var tlsFailure: ErrorCode { ErrorCode(rawValue: 0x0206) }
    /// The account has too many links.
    @inlinable
    public static var tooManyLinks: ErrorCode { ErrorCode(rawValue: 0x0207) }
    /// The server is about to stop.
    @inlinable
    public static var draining: ErrorCode { ErrorCode(rawValue: 0x0208) }
    /// The server takes no more for now.
    @inlinable
    public static var serverBusy: ErrorCode { ErrorCode(rawValue: 0x0209) }
    /// Another server is responsible.
    @inlinable
    public static var redirected: ErrorCode { ErrorCode(rawValue: 0x020A) }
    /// The session number is taken.
    @inlinable
    public static var sessionInUse: ErrorCode { ErrorCode(rawValue: 0x0301) }
    /// No such session is open.
    @inlinable
    public static var unknownSession: ErrorCode { ErrorCode(rawValue: 0x0302) }
    /// The link has too many sessions.
    @inlinable
    public static var tooManySessions: ErrorCode { ErrorCode(rawValue: 0x0303) }
    /// The account may not enter the room.
    @inlinable
    public static var roomForbidden: ErrorCode { ErrorCode(rawValue: 0x0304) }
    /// The room takes no more members.
    @inlinable
    public static var roomFull: ErrorCode { ErrorCode(rawValue: 0x0305) }
    /// The room is already open on this link.
    @inlinable
    public static var alreadyOpen: ErrorCode { ErrorCode(rawValue: 0x0306) }
    /// More was sent than credit was given for.
    @inlinable
    public static var creditExceeded: ErrorCode { ErrorCode(rawValue: 0x0307) }
    /// The message is beyond the limit.
    @inlinable
    public static var messageTooLarge: ErrorCode { ErrorCode(rawValue: 0x0308) }
    /// The session kind is not supported.
    @inlinable
    public static var unsupportedKind: ErrorCode { ErrorCode(rawValue: 0x0309) }
    /// The peer closed the session.
    @inlinable
    public static var closedByPeer: ErrorCode { ErrorCode(rawValue: 0x030A) }
    /// A field's value is not allowed.
    @inlinable
    public static var invalidValue: ErrorCode { ErrorCode(rawValue: 0x0401) }
    /// A required field is missing.
    @inlinable
    public static var missingField: ErrorCode { ErrorCode(rawValue: 0x0402) }
    /// A field that may come once came twice.
    @inlinable
    public static var duplicateField: ErrorCode { ErrorCode(rawValue: 0x0403) }
    /// The message cannot be stored now.
    @inlinable
    public static var storeUnavailable: ErrorCode { ErrorCode(rawValue: 0x0404) }
    /// The receiver refused.
    @inlinable
    public static var refused: ErrorCode { ErrorCode(rawValue: 0x0405) }
    /// The time to live ran out.
    @inlinable
    public static var expired: ErrorCode { ErrorCode(rawValue: 0x0406) }
    /// The sender withdrew it.
    @inlinable
    public static var cancelled: ErrorCode { ErrorCode(rawValue: 0x0407) }
    /// The deadline passed without an answer.
    @inlinable
    public static var deadlineExceeded: ErrorCode { ErrorCode(rawValue: 0x0408) }
    /// The method is not known.
    @inlinable
    public static var unknownMethod: ErrorCode { ErrorCode(rawValue: 0x0409) }
    /// The recipient is not there.
    @inlinable
    public static var noRecipient: ErrorCode { ErrorCode(rawValue: 0x040A) }
    /// Too many requests are open.
    @inlinable
    public static var tooManyRequests: ErrorCode { ErrorCode(rawValue: 0x040B) }
    /// Too much in too short a time.
    @inlinable
    public static var rateLimited: ErrorCode { ErrorCode(rawValue: 0x040C) }
    /// The message's counter is below those that its device has used since.
    @inlinable
    public static var counterTooOld: ErrorCode { ErrorCode(rawValue: 0x040D) }
}

extension ErrorCode {
    /// Every code of version 1.0, in the order of the numbers.
    public static let registered: [ErrorCode] = [
        .none, .badMagic, .unsupportedVersion, .frameTooLarge, .expectedHello, .handshakeTimeout, .authTimeout,
        .badChecksum, .unexpectedEOF, .reservedBits, .unknownCritical, .malformedTLV, .tlvTooDeep, .tooManyTLVs,
        .inflateLimit, .inflateFailed, .compressionNotAllowed, .controlFlood, .churnLimit, .ackUnsent, .ackTimeout,
        .slowConsumer, .outOfWindow, .staleEpoch, .frameTimeout, .unknownFlood, .protocolViolation, .invalidHello,
        .idleTimeout, .unauthenticated, .forbidden, .resumeRejected, .revoked, .replaced, .tlsFailure, .tooManyLinks,
        .draining, .serverBusy, .redirected, .sessionInUse, .unknownSession, .tooManySessions, .roomForbidden,
        .roomFull, .alreadyOpen, .creditExceeded, .messageTooLarge, .unsupportedKind, .closedByPeer, .invalidValue,
        .missingField, .duplicateField, .storeUnavailable, .refused, .expired, .cancelled, .deadlineExceeded,
        .unknownMethod, .noRecipient, .tooManyRequests, .rateLimited, .counterTooOld,
    ]
}

extension ErrorCode: CustomStringConvertible {
    /// The name in the specification, or the number in hexadecimal.
    public var name: String {
        switch self {
        case .none: "none"
        case .badMagic: "badMagic"
        case .unsupportedVersion: "unsupportedVersion"
        case .frameTooLarge: "frameTooLarge"
        case .expectedHello: "expectedHello"
        case .handshakeTimeout: "handshakeTimeout"
        case .authTimeout: "authTimeout"
        case .badChecksum: "badChecksum"
        case .unexpectedEOF: "unexpectedEOF"
        case .reservedBits: "reservedBits"
        case .unknownCritical: "unknownCritical"
        case .malformedTLV: "malformedTLV"
        case .tlvTooDeep: "tlvTooDeep"
        case .tooManyTLVs: "tooManyTLVs"
        case .inflateLimit: "inflateLimit"
        case .inflateFailed: "inflateFailed"
        case .compressionNotAllowed: "compressionNotAllowed"
        case .controlFlood: "controlFlood"
        case .churnLimit: "churnLimit"
        case .ackUnsent: "ackUnsent"
        case .ackTimeout: "ackTimeout"
        case .slowConsumer: "slowConsumer"
        case .outOfWindow: "outOfWindow"
        case .staleEpoch: "staleEpoch"
        case .frameTimeout: "frameTimeout"
        case .unknownFlood: "unknownFlood"
        case .protocolViolation: "protocolViolation"
        case .invalidHello: "invalidHello"
        case .idleTimeout: "idleTimeout"
        case .unauthenticated: "unauthenticated"
        case .forbidden: "forbidden"
        case .resumeRejected: "resumeRejected"
        case .revoked: "revoked"
        case .replaced: "replaced"
        case .tlsFailure: "tlsFailure"
        case .tooManyLinks: "tooManyLinks"
        case .draining: "draining"
        case .serverBusy: "serverBusy"
        case .redirected: "redirected"
        case .sessionInUse: "sessionInUse"
        case .unknownSession: "unknownSession"
        case .tooManySessions: "tooManySessions"
        case .roomForbidden: "roomForbidden"
        case .roomFull: "roomFull"
        case .alreadyOpen: "alreadyOpen"
        case .creditExceeded: "creditExceeded"
        case .messageTooLarge: "messageTooLarge"
        case .unsupportedKind: "unsupportedKind"
        case .closedByPeer: "closedByPeer"
        case .invalidValue: "invalidValue"
        case .missingField: "missingField"
        case .duplicateField: "duplicateField"
        case .storeUnavailable: "storeUnavailable"
        case .refused: "refused"
        case .expired: "expired"
        case .cancelled: "cancelled"
        case .deadlineExceeded: "deadlineExceeded"
        case .unknownMethod: "unknownMethod"
        case .noRecipient: "noRecipient"
        case .tooManyRequests: "tooManyRequests"
        case .rateLimited: "rateLimited"
        case .counterTooOld: "counterTooOld"
        default: hexadecimal(rawValue)
        }
    }

    /// One sentence for people, without a full stop; unknown numbers are shown in hexadecimal.
    public var description: String {
        switch self {
        case .none: "no error; success in a response"
        case .badMagic: "the stream does not start a frame where one must start"
        case .unsupportedVersion: "the major version is not spoken here"
        case .frameTooLarge: "the body's length is beyond the negotiated limit"
        case .expectedHello: "the first frame is not a hello"
        case .handshakeTimeout: "the handshake took too long"
        case .authTimeout: "the peer did not authenticate in time"
        case .badChecksum: "the checksum is wrong or missing"
        case .unexpectedEOF: "the stream ended inside a frame"
        case .reservedBits: "flag bits are set that version 1.0 reserves"
        case .unknownCritical: "a frame type or tag is unknown and critical"
        case .malformedTLV: "a field is longer than what holds it"
        case .tlvTooDeep: "containers are nested too deep"
        case .tooManyTLVs: "a frame has too many fields"
        case .inflateLimit: "a compressed body grows beyond the limit"
        case .inflateFailed: "a compressed body is damaged"
        case .compressionNotAllowed: "compression is unknown, or forbidden here"
        case .controlFlood: "too many control frames in too short a time"
        case .churnLimit: "sessions are opened and closed too fast"
        case .ackUnsent: "something was acknowledged that was never sent"
        case .ackTimeout: "nothing was acknowledged for too long"
        case .slowConsumer: "the peer reads too slowly"
        case .outOfWindow: "a sequence is beyond the window"
        case .staleEpoch: "a newer connection carries the link"
        case .frameTimeout: "a frame was not complete in time"
        case .unknownFlood: "too many unknown frames or fields"
        case .protocolViolation: "a frame came that its sender may not send now"
        case .invalidHello: "the hello is incomplete or contradictory"
        case .idleTimeout: "the peer showed no life"
        case .unauthenticated: "the credential is not accepted"
        case .forbidden: "the account may not do this"
        case .resumeRejected: "the link cannot be resumed; a new one may start"
        case .revoked: "the credential was revoked"
        case .replaced: "another connection took the link"
        case .tlsFailure: "the secure channel could not be made"
        case .tooManyLinks: "the account has too many links"
        case .draining: "the server is about to stop"
        case .serverBusy: "the server takes no more for now"
        case .redirected: "another server is responsible"
        case .sessionInUse: "the session number is taken"
        case .unknownSession: "no such session is open"
        case .tooManySessions: "the link has too many sessions"
        case .roomForbidden: "the account may not enter the room"
        case .roomFull: "the room takes no more members"
        case .alreadyOpen: "the room is already open on this link"
        case .creditExceeded: "more was sent than credit was given for"
        case .messageTooLarge: "the message is beyond the limit"
        case .unsupportedKind: "the session kind is not supported"
        case .closedByPeer: "the peer closed the session"
        case .invalidValue: "a field's value is not allowed"
        case .missingField: "a required field is missing"
        case .duplicateField: "a field that may come once came twice"
        case .storeUnavailable: "the message cannot be stored now"
        case .refused: "the receiver refused"
        case .expired: "the time to live ran out"
        case .cancelled: "the sender withdrew it"
        case .deadlineExceeded: "the deadline passed without an answer"
        case .unknownMethod: "the method is not known"
        case .noRecipient: "the recipient is not there"
        case .tooManyRequests: "too many requests are open"
        case .rateLimited: "too much in too short a time"
        case .counterTooOld: "the device has used higher counters since"
        default: "error \(hexadecimal(rawValue))"
        }
    }
}
