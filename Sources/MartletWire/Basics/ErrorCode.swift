/// Why something was refused or ended, as it is said on the wire. Numbers from 0xF000 are for applications.
public struct ErrorCode: RawRepresentable, Hashable, Sendable {
    /// The number on the wire.
    public var rawValue: UInt16

    /// The code with that number; every number is one.
    @inlinable
    public init(rawValue: UInt16) {
        self.rawValue = rawValue
    }
}

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
