// Generated from Specs/registry.json by Scripts/generate-registries. Do not edit.

extension ErrorCode {
    /// No error; success in a response.
    @inlinable
    public static var none: ErrorCode { ErrorCode(rawValue: 0x0000) }
    /// The stream does not contain a frame where one must begin.
    @inlinable
    public static var badMagic: ErrorCode { ErrorCode(rawValue: 0x0101) }
    /// The major version is not supported.
    @inlinable
    public static var unsupportedVersion: ErrorCode { ErrorCode(rawValue: 0x0102) }
    /// The length of the body exceeds the negotiated limit.
    @inlinable
    public static var frameTooLarge: ErrorCode { ErrorCode(rawValue: 0x0103) }
    /// The first frame is not a hello.
    @inlinable
    public static var expectedHello: ErrorCode { ErrorCode(rawValue: 0x0104) }
    /// The handshake exceeded its timeout.
    @inlinable
    public static var handshakeTimeout: ErrorCode { ErrorCode(rawValue: 0x0105) }
    /// The authentication exceeded its timeout.
    @inlinable
    public static var authTimeout: ErrorCode { ErrorCode(rawValue: 0x0106) }
    /// The checksum is wrong or missing.
    @inlinable
    public static var badChecksum: ErrorCode { ErrorCode(rawValue: 0x0107) }
    /// The stream ended within a frame.
    @inlinable
    public static var unexpectedEOF: ErrorCode { ErrorCode(rawValue: 0x0108) }
    /// A flag bit is set that version 1.0 reserves.
    @inlinable
    public static var reservedBits: ErrorCode { ErrorCode(rawValue: 0x0109) }
    /// A critical frame type or tag is unknown.
    @inlinable
    public static var unknownCritical: ErrorCode { ErrorCode(rawValue: 0x010A) }
    /// A field exceeds the body or container that contains it.
    @inlinable
    public static var malformedTLV: ErrorCode { ErrorCode(rawValue: 0x010B) }
    /// Containers are nested too deeply.
    @inlinable
    public static var tlvTooDeep: ErrorCode { ErrorCode(rawValue: 0x010C) }
    /// A frame contains too many fields.
    @inlinable
    public static var tooManyTLVs: ErrorCode { ErrorCode(rawValue: 0x010D) }
    /// A compressed body inflates beyond the limit.
    @inlinable
    public static var inflateLimit: ErrorCode { ErrorCode(rawValue: 0x010E) }
    /// A compressed body is damaged.
    @inlinable
    public static var inflateFailed: ErrorCode { ErrorCode(rawValue: 0x010F) }
    /// The compression is unknown or not permitted.
    @inlinable
    public static var compressionNotAllowed: ErrorCode { ErrorCode(rawValue: 0x0110) }
    /// The rate of control frames is too high.
    @inlinable
    public static var controlFlood: ErrorCode { ErrorCode(rawValue: 0x0111) }
    /// The rate of opened sessions is too high.
    @inlinable
    public static var churnLimit: ErrorCode { ErrorCode(rawValue: 0x0112) }
    /// A sequence was acknowledged that was never sent.
    @inlinable
    public static var ackUnsent: ErrorCode { ErrorCode(rawValue: 0x0113) }
    /// No acknowledgement was received before the timeout.
    @inlinable
    public static var ackTimeout: ErrorCode { ErrorCode(rawValue: 0x0114) }
    /// The peer does not read fast enough.
    @inlinable
    public static var slowConsumer: ErrorCode { ErrorCode(rawValue: 0x0115) }
    /// A sequence is beyond the window.
    @inlinable
    public static var outOfWindow: ErrorCode { ErrorCode(rawValue: 0x0116) }
    /// The link continues on a newer connection.
    @inlinable
    public static var staleEpoch: ErrorCode { ErrorCode(rawValue: 0x0117) }
    /// A frame exceeded its timeout.
    @inlinable
    public static var frameTimeout: ErrorCode { ErrorCode(rawValue: 0x0118) }
    /// The rate of unknown frames or fields is too high.
    @inlinable
    public static var unknownFlood: ErrorCode { ErrorCode(rawValue: 0x0119) }
    /// A frame was received that its sender may not send.
    @inlinable
    public static var protocolViolation: ErrorCode { ErrorCode(rawValue: 0x011A) }
    /// The hello is incomplete or contradictory.
    @inlinable
    public static var invalidHello: ErrorCode { ErrorCode(rawValue: 0x011B) }
    /// No bytes were received before the timeout.
    @inlinable
    public static var idleTimeout: ErrorCode { ErrorCode(rawValue: 0x011C) }
    /// The credential is not accepted.
    @inlinable
    public static var unauthenticated: ErrorCode { ErrorCode(rawValue: 0x0201) }
    /// The account lacks the permission.
    @inlinable
    public static var forbidden: ErrorCode { ErrorCode(rawValue: 0x0202) }
    /// The link cannot be resumed; a new link is possible.
    @inlinable
    public static var resumeRejected: ErrorCode { ErrorCode(rawValue: 0x0203) }
    /// The credential was revoked.
    @inlinable
    public static var revoked: ErrorCode { ErrorCode(rawValue: 0x0204) }
    /// Another connection of the device has taken its place.
    @inlinable
    public static var replaced: ErrorCode { ErrorCode(rawValue: 0x0205) }
    /// The TLS connection failed.
    @inlinable
    public static var tlsFailure: ErrorCode { ErrorCode(rawValue: 0x0206) }
    /// The account has too many links.
    @inlinable
    public static var tooManyLinks: ErrorCode { ErrorCode(rawValue: 0x0207) }
    /// The server will stop.
    @inlinable
    public static var draining: ErrorCode { ErrorCode(rawValue: 0x0208) }
    /// The server is temporarily overloaded.
    @inlinable
    public static var serverBusy: ErrorCode { ErrorCode(rawValue: 0x0209) }
    /// Another server is responsible.
    @inlinable
    public static var redirected: ErrorCode { ErrorCode(rawValue: 0x020A) }
    /// The session number is in use.
    @inlinable
    public static var sessionInUse: ErrorCode { ErrorCode(rawValue: 0x0301) }
    /// The session is not open.
    @inlinable
    public static var unknownSession: ErrorCode { ErrorCode(rawValue: 0x0302) }
    /// The link has too many sessions.
    @inlinable
    public static var tooManySessions: ErrorCode { ErrorCode(rawValue: 0x0303) }
    /// The account may not enter the room.
    @inlinable
    public static var roomForbidden: ErrorCode { ErrorCode(rawValue: 0x0304) }
    /// The room has the maximum number of members.
    @inlinable
    public static var roomFull: ErrorCode { ErrorCode(rawValue: 0x0305) }
    /// The room is already open on this link.
    @inlinable
    public static var alreadyOpen: ErrorCode { ErrorCode(rawValue: 0x0306) }
    /// Bytes were sent beyond the credit.
    @inlinable
    public static var creditExceeded: ErrorCode { ErrorCode(rawValue: 0x0307) }
    /// The message is longer than the limit.
    @inlinable
    public static var messageTooLarge: ErrorCode { ErrorCode(rawValue: 0x0308) }
    /// The kind of the session is not supported.
    @inlinable
    public static var unsupportedKind: ErrorCode { ErrorCode(rawValue: 0x0309) }
    /// The peer closed the session.
    @inlinable
    public static var closedByPeer: ErrorCode { ErrorCode(rawValue: 0x030A) }
    /// A moderator has removed the account from the room.
    @inlinable
    public static var kicked: ErrorCode { ErrorCode(rawValue: 0x030B) }
    /// The account has created as many rooms as it may.
    @inlinable
    public static var tooManyRooms: ErrorCode { ErrorCode(rawValue: 0x030C) }
    /// The value of a field is not permitted.
    @inlinable
    public static var invalidValue: ErrorCode { ErrorCode(rawValue: 0x0401) }
    /// A required field is missing.
    @inlinable
    public static var missingField: ErrorCode { ErrorCode(rawValue: 0x0402) }
    /// A field is repeated that may occur once.
    @inlinable
    public static var duplicateField: ErrorCode { ErrorCode(rawValue: 0x0403) }
    /// The message cannot be stored at present.
    @inlinable
    public static var storeUnavailable: ErrorCode { ErrorCode(rawValue: 0x0404) }
    /// The receiver refused.
    @inlinable
    public static var refused: ErrorCode { ErrorCode(rawValue: 0x0405) }
    /// The time to live has elapsed.
    @inlinable
    public static var expired: ErrorCode { ErrorCode(rawValue: 0x0406) }
    /// The sender cancelled the operation.
    @inlinable
    public static var cancelled: ErrorCode { ErrorCode(rawValue: 0x0407) }
    /// The deadline passed without a response.
    @inlinable
    public static var deadlineExceeded: ErrorCode { ErrorCode(rawValue: 0x0408) }
    /// The method is unknown.
    @inlinable
    public static var unknownMethod: ErrorCode { ErrorCode(rawValue: 0x0409) }
    /// The recipient is not available.
    @inlinable
    public static var noRecipient: ErrorCode { ErrorCode(rawValue: 0x040A) }
    /// Too many requests have no response, or the relay's rate of requests is exceeded.
    @inlinable
    public static var tooManyRequests: ErrorCode { ErrorCode(rawValue: 0x040B) }
    /// The rate is too high.
    @inlinable
    public static var rateLimited: ErrorCode { ErrorCode(rawValue: 0x040C) }
    /// The counter is below the device's deduplication window.
    @inlinable
    public static var counterTooOld: ErrorCode { ErrorCode(rawValue: 0x040D) }
    /// The counter was used for another message.
    @inlinable
    public static var counterReused: ErrorCode { ErrorCode(rawValue: 0x040E) }
    /// The room has no such attachment.
    @inlinable
    public static var unknownAttachment: ErrorCode { ErrorCode(rawValue: 0x0500) }
    /// The attachment is longer than the limit.
    @inlinable
    public static var attachmentTooLarge: ErrorCode { ErrorCode(rawValue: 0x0501) }
    /// The attachments of the account exceed its quota.
    @inlinable
    public static var attachmentQuota: ErrorCode { ErrorCode(rawValue: 0x0502) }
    /// The relay has no room for attachments.
    @inlinable
    public static var attachmentsFull: ErrorCode { ErrorCode(rawValue: 0x0503) }
    /// The position is not one of the attachment.
    @inlinable
    public static var wrongPosition: ErrorCode { ErrorCode(rawValue: 0x0504) }
    /// The bytes do not have the digest.
    @inlinable
    public static var digestMismatch: ErrorCode { ErrorCode(rawValue: 0x0505) }
    /// The account, the room or the store has too many membership records.
    @inlinable
    public static var tooManyMemberships: ErrorCode { ErrorCode(rawValue: 0x0508) }
    /// The account has not joined the room.
    @inlinable
    public static var notJoined: ErrorCode { ErrorCode(rawValue: 0x0509) }
}

extension ErrorCode {
    /// All codes of version 1.0, in the order of their numbers.
    package static let registered: [ErrorCode] = [
        .none, .badMagic, .unsupportedVersion, .frameTooLarge, .expectedHello, .handshakeTimeout, .authTimeout,
        .badChecksum, .unexpectedEOF, .reservedBits, .unknownCritical, .malformedTLV, .tlvTooDeep, .tooManyTLVs,
        .inflateLimit, .inflateFailed, .compressionNotAllowed, .controlFlood, .churnLimit, .ackUnsent, .ackTimeout,
        .slowConsumer, .outOfWindow, .staleEpoch, .frameTimeout, .unknownFlood, .protocolViolation, .invalidHello,
        .idleTimeout, .unauthenticated, .forbidden, .resumeRejected, .revoked, .replaced, .tlsFailure, .tooManyLinks,
        .draining, .serverBusy, .redirected, .sessionInUse, .unknownSession, .tooManySessions, .roomForbidden,
        .roomFull, .alreadyOpen, .creditExceeded, .messageTooLarge, .unsupportedKind, .closedByPeer, .kicked,
        .tooManyRooms, .invalidValue, .missingField, .duplicateField, .storeUnavailable, .refused, .expired, .cancelled,
        .deadlineExceeded, .unknownMethod, .noRecipient, .tooManyRequests, .rateLimited, .counterTooOld, .counterReused,
        .unknownAttachment, .attachmentTooLarge, .attachmentQuota, .attachmentsFull, .wrongPosition, .digestMismatch,
        .tooManyMemberships, .notJoined,
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
        case .kicked: "kicked"
        case .tooManyRooms: "tooManyRooms"
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
        case .counterReused: "counterReused"
        case .unknownAttachment: "unknownAttachment"
        case .attachmentTooLarge: "attachmentTooLarge"
        case .attachmentQuota: "attachmentQuota"
        case .attachmentsFull: "attachmentsFull"
        case .wrongPosition: "wrongPosition"
        case .digestMismatch: "digestMismatch"
        case .tooManyMemberships: "tooManyMemberships"
        case .notJoined: "notJoined"
        default: hexadecimal(rawValue)
        }
    }

    /// A sentence for people without a full stop; the number of an unknown code in hexadecimal.
    public var description: String {
        switch self {
        case .none: "no error; success in a response"
        case .badMagic: "the stream does not contain a frame where one must begin"
        case .unsupportedVersion: "the major version is not supported"
        case .frameTooLarge: "the length of the body exceeds the negotiated limit"
        case .expectedHello: "the first frame is not a hello"
        case .handshakeTimeout: "the handshake exceeded its timeout"
        case .authTimeout: "the authentication exceeded its timeout"
        case .badChecksum: "the checksum is wrong or missing"
        case .unexpectedEOF: "the stream ended within a frame"
        case .reservedBits: "a flag bit is set that version 1.0 reserves"
        case .unknownCritical: "a critical frame type or tag is unknown"
        case .malformedTLV: "a field exceeds the body or container that contains it"
        case .tlvTooDeep: "containers are nested too deeply"
        case .tooManyTLVs: "a frame contains too many fields"
        case .inflateLimit: "a compressed body inflates beyond the limit"
        case .inflateFailed: "a compressed body is damaged"
        case .compressionNotAllowed: "the compression is unknown or not permitted"
        case .controlFlood: "the rate of control frames is too high"
        case .churnLimit: "the rate of opened sessions is too high"
        case .ackUnsent: "a sequence was acknowledged that was never sent"
        case .ackTimeout: "no acknowledgement was received before the timeout"
        case .slowConsumer: "the peer does not read fast enough"
        case .outOfWindow: "a sequence is beyond the window"
        case .staleEpoch: "the link continues on a newer connection"
        case .frameTimeout: "a frame exceeded its timeout"
        case .unknownFlood: "the rate of unknown frames or fields is too high"
        case .protocolViolation: "a frame was received that its sender may not send"
        case .invalidHello: "the hello is incomplete or contradictory"
        case .idleTimeout: "no bytes were received before the timeout"
        case .unauthenticated: "the credential is not accepted"
        case .forbidden: "the account lacks the permission"
        case .resumeRejected: "the link cannot be resumed; a new link is possible"
        case .revoked: "the credential was revoked"
        case .replaced: "another connection of the device has taken its place"
        case .tlsFailure: "the TLS connection failed"
        case .tooManyLinks: "the account has too many links"
        case .draining: "the server will stop"
        case .serverBusy: "the server is temporarily overloaded"
        case .redirected: "another server is responsible"
        case .sessionInUse: "the session number is in use"
        case .unknownSession: "the session is not open"
        case .tooManySessions: "the link has too many sessions"
        case .roomForbidden: "the account may not enter the room"
        case .roomFull: "the room has the maximum number of members"
        case .alreadyOpen: "the room is already open on this link"
        case .creditExceeded: "bytes were sent beyond the credit"
        case .messageTooLarge: "the message is longer than the limit"
        case .unsupportedKind: "the kind of the session is not supported"
        case .closedByPeer: "the peer closed the session"
        case .kicked: "a moderator has removed the account from the room"
        case .tooManyRooms: "the account has created as many rooms as it may"
        case .invalidValue: "the value of a field is not permitted"
        case .missingField: "a required field is missing"
        case .duplicateField: "a field is repeated that may occur once"
        case .storeUnavailable: "the message cannot be stored at present"
        case .refused: "the receiver refused"
        case .expired: "the time to live has elapsed"
        case .cancelled: "the sender cancelled the operation"
        case .deadlineExceeded: "the deadline passed without a response"
        case .unknownMethod: "the method is unknown"
        case .noRecipient: "the recipient is not available"
        case .tooManyRequests: "too many requests have no response, or the relay's rate of requests is exceeded"
        case .rateLimited: "the rate is too high"
        case .counterTooOld: "the counter is below the device's deduplication window"
        case .counterReused: "the counter was used for another message"
        case .unknownAttachment: "the room has no such attachment"
        case .attachmentTooLarge: "the attachment is longer than the limit"
        case .attachmentQuota: "the attachments of the account exceed its quota"
        case .attachmentsFull: "the relay has no room for attachments"
        case .wrongPosition: "the position is not one of the attachment"
        case .digestMismatch: "the bytes do not have the digest"
        case .tooManyMemberships: "the account, the room or the store has too many membership records"
        case .notJoined: "the account has not joined the room"
        default: "error \(hexadecimal(rawValue))"
        }
    }
}
