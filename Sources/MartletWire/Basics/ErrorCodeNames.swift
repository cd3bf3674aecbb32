extension ErrorCode: CustomStringConvertible {
    /// The name in the specification, or the number in hexadecimal.
    public var name: String {
        Self.texts[self]?.name ?? hexadecimal(rawValue)
    }

    /// One sentence for people, without a full stop; unknown numbers are shown in hexadecimal.
    public var description: String {
        Self.texts[self]?.sentence ?? "error \(hexadecimal(rawValue))"
    }

    /// Every code of version 1.0, in the order of the numbers.
    public static var registered: [ErrorCode] {
        texts.keys.sorted { $0.rawValue < $1.rawValue }
    }

    private static let texts: [ErrorCode: (name: String, sentence: String)] = [
        .none: ("none", "no error; success in a response"),
        .badMagic: ("badMagic", "the stream does not start a frame where one must start"),
        .unsupportedVersion: ("unsupportedVersion", "the major version is not spoken here"),
        .frameTooLarge: ("frameTooLarge", "the body's length is beyond the negotiated limit"),
        .expectedHello: ("expectedHello", "the first frame is not a hello"),
        .handshakeTimeout: ("handshakeTimeout", "the handshake took too long"),
        .authTimeout: ("authTimeout", "the peer did not authenticate in time"),
        .badChecksum: ("badChecksum", "the checksum is wrong or missing"),
        .unexpectedEOF: ("unexpectedEOF", "the stream ended inside a frame"),
        .reservedBits: ("reservedBits", "flag bits are set that version 1.0 reserves"),
        .unknownCritical: ("unknownCritical", "a frame type or tag is unknown and critical"),
        .malformedTLV: ("malformedTLV", "a field is longer than what holds it"),
        .tlvTooDeep: ("tlvTooDeep", "containers are nested too deep"),
        .tooManyTLVs: ("tooManyTLVs", "a frame has too many fields"),
        .inflateLimit: ("inflateLimit", "a compressed body grows beyond the limit"),
        .inflateFailed: ("inflateFailed", "a compressed body is damaged"),
        .compressionNotAllowed: ("compressionNotAllowed", "compression is unknown, or forbidden here"),
        .controlFlood: ("controlFlood", "too many control frames in too short a time"),
        .churnLimit: ("churnLimit", "sessions are opened and closed too fast"),
        .ackUnsent: ("ackUnsent", "something was acknowledged that was never sent"),
        .ackTimeout: ("ackTimeout", "nothing was acknowledged for too long"),
        .slowConsumer: ("slowConsumer", "the peer reads too slowly"),
        .outOfWindow: ("outOfWindow", "a sequence is beyond the window"),
        .staleEpoch: ("staleEpoch", "a newer connection carries the link"),
        .frameTimeout: ("frameTimeout", "a frame was not complete in time"),
        .unknownFlood: ("unknownFlood", "too many unknown frames or fields"),
        .protocolViolation: ("protocolViolation", "a frame came that its sender may not send now"),
        .invalidHello: ("invalidHello", "the hello is incomplete or contradictory"),
        .idleTimeout: ("idleTimeout", "the peer showed no life"),
        .unauthenticated: ("unauthenticated", "the credential is not accepted"),
        .forbidden: ("forbidden", "the account may not do this"),
        .resumeRejected: ("resumeRejected", "the link cannot be resumed; a new one may start"),
        .revoked: ("revoked", "the credential was revoked"),
        .replaced: ("replaced", "another connection took the link"),
        .tlsFailure: ("tlsFailure", "the secure channel could not be made"),
        .tooManyLinks: ("tooManyLinks", "the account has too many links"),
        .draining: ("draining", "the server is about to stop"),
        .serverBusy: ("serverBusy", "the server takes no more for now"),
        .redirected: ("redirected", "another server is responsible"),
        .sessionInUse: ("sessionInUse", "the session number is taken"),
        .unknownSession: ("unknownSession", "no such session is open"),
        .tooManySessions: ("tooManySessions", "the link has too many sessions"),
        .roomForbidden: ("roomForbidden", "the account may not enter the room"),
        .roomFull: ("roomFull", "the room takes no more members"),
        .alreadyOpen: ("alreadyOpen", "the room is already open on this link"),
        .creditExceeded: ("creditExceeded", "more was sent than credit was given for"),
        .messageTooLarge: ("messageTooLarge", "the message is beyond the limit"),
        .unsupportedKind: ("unsupportedKind", "the session kind is not supported"),
        .closedByPeer: ("closedByPeer", "the peer closed the session"),
        .invalidValue: ("invalidValue", "a field's value is not allowed"),
        .missingField: ("missingField", "a required field is missing"),
        .duplicateField: ("duplicateField", "a field that may come once came twice"),
        .storeUnavailable: ("storeUnavailable", "the message cannot be stored now"),
        .refused: ("refused", "the receiver refused"),
        .expired: ("expired", "the time to live ran out"),
        .cancelled: ("cancelled", "the sender withdrew it"),
        .deadlineExceeded: ("deadlineExceeded", "the deadline passed without an answer"),
        .unknownMethod: ("unknownMethod", "the method is not known"),
        .noRecipient: ("noRecipient", "the recipient is not there"),
        .tooManyRequests: ("tooManyRequests", "too many requests are open"),
        .rateLimited: ("rateLimited", "too much in too short a time"),
        .counterTooOld: ("counterTooOld", "the device has used higher counters since"),
    ]
}
