public import MartletLink
public import MartletTransport
public import MartletWire

/// The errors by their codes, for an ``Outbox`` and for the tests of an application.
extension MartletError {
    /// An error with the code `invalidEndpoint`.
    public static func invalidEndpoint(_ argument: String) -> Self { Self(.invalidEndpoint(argument)) }
    /// An error with the code `plaintextNotAllowed`.
    public static func plaintextNotAllowed(_ argument: String) -> Self { Self(.plaintextNotAllowed(argument)) }
    /// An error with the code `invalidConfiguration`.
    public static func invalidConfiguration(_ reason: String) -> Self { Self(.invalidConfiguration(reason)) }
    /// An error with the code `invalidTLS`.
    public static func invalidTLS(_ error: TLSError) -> Self { Self(.invalidTLS(error), underlying: error) }
    /// An error with the code `invalidName`.
    public static func invalidName(_ argument: String) -> Self { Self(.invalidName(argument)) }
    /// An error with the code `invalidContent`.
    public static func invalidContent(_ reason: String, underlying: (any Error)? = nil) -> Self {
        Self(.invalidContent(reason), underlying: underlying)
    }
    /// An error with the code `invalidContent` for an error of a decoder or encoder.
    static func invalidContent(causedBy error: any Error) -> Self {
        .invalidContent((error as? WireError)?.sentence ?? "\(error)", underlying: error)
    }
    /// An error with the code `changeNotAllowed`.
    public static func changeNotAllowed(_ reason: String) -> Self { Self(.changeNotAllowed(reason)) }
    /// An error with the code `messageTooLarge`. Both numbers are in bytes.
    public static func messageTooLarge(byteCount: Int, limit: Int) -> Self {
        Self(.messageTooLarge(byteCount: byteCount, limit: limit))
    }
    /// An error with the code `roomAlreadyOpen`.
    public static func roomAlreadyOpen(_ room: RoomName) -> Self { Self(.roomAlreadyOpen(room)) }
    /// An error with the code `tooManyRooms`.
    public static func tooManyRooms(limit: Int) -> Self { Self(.tooManyRooms(limit: limit)) }
    /// An error with the code `tooManyRequests`.
    public static func tooManyRequests(limit: Int) -> Self { Self(.tooManyRequests(limit: limit)) }
    /// An error with the code `notStarted`.
    public static var notStarted: Self { Self(.notStarted) }
    /// An error with the code `stopped`.
    public static var stopped: Self { Self(.stopped) }
    /// An error with the code `gaveUp`.
    public static func gaveUp(_ reason: StopReason) -> Self { Self(.gaveUp(reason)) }
    /// An error with the code `roomClosed`.
    ///
    /// - Parameters:
    ///   - code: The code of the relay; nil if the application closed the room.
    ///   - room: The name of the room.
    public static func roomClosed(_ code: ErrorCode? = nil, room: RoomName? = nil) -> Self {
        Self(.roomClosed(code, room: room))
    }
    /// An error with the code `notAccepted`.
    public static func notAccepted(_ failure: SendFailure) -> Self { Self(.notAccepted(failure)) }
    /// An error with the code `answeredWithFailure`.
    public static func answeredWithFailure(
        _ code: ErrorCode, reason: String? = nil, retryAfter: Duration? = nil
    ) -> Self {
        Self(.answeredWithFailure(code, reason: reason, retryAfter: retryAfter))
    }
    /// An error with the code `deadlineExceeded`.
    public static var deadlineExceeded: Self { Self(.deadlineExceeded) }
    /// An error with the code `connectionLost`.
    public static var connectionLost: Self { Self(.connectionLost) }
    /// An error with the code `logReplaced`.
    public static func logReplaced(current: LogID?) -> Self { Self(.logReplaced(current: current)) }
    /// An error with the code `outboxFailed`.
    ///
    /// - Parameters:
    ///   - reason: A description of the error of the outbox.
    ///   - underlying: The error of the outbox.
    public static func outboxFailed(_ reason: String, underlying: (any Error)? = nil) -> Self {
        Self(.outboxFailed(reason), underlying: underlying)
    }
    /// An error with the code `outboxFull`.
    public static func outboxFull(limit: OutboxQuota) -> Self { Self(.outboxFull(limit)) }
    /// An error with the code `outboxOfAnotherAccount`.
    public static func outboxOfAnotherAccount(_ account: AccountName) -> Self { Self(.outboxOfAnotherAccount(account)) }
    /// An error with the code `unknownDeadLetter`.
    public static var unknownDeadLetter: Self { Self(.unknownDeadLetter) }
    /// An error with the code `alreadyIterating`.
    public static var alreadyIterating: Self { Self(.alreadyIterating) }
    /// An error with the code `alreadyAcknowledged`.
    public static var alreadyAcknowledged: Self { Self(.alreadyAcknowledged) }
    /// An error with the code `tooManyReplies`.
    public static func tooManyReplies(limit: Int) -> Self { Self(.tooManyReplies(limit: limit)) }
    /// An error with the code `attachmentsUnsupported`.
    public static var attachmentsUnsupported: Self { Self(.attachmentsUnsupported) }
    /// An error with the code `attachmentRefused`.
    public static func attachmentRefused(_ code: ErrorCode) -> Self { Self(.attachmentRefused(code)) }
    /// An error with the code `attachmentDamaged`.
    public static var attachmentDamaged: Self { Self(.attachmentDamaged) }
    /// An error with the code `fileFailed`.
    public static func fileFailed(path: String, _ reason: String) -> Self { Self(.fileFailed("\(path): \(reason)")) }
    /// An error with the code `tooManyTransfers`.
    public static func tooManyTransfers(limit: Int) -> Self { Self(.tooManyTransfers(limit: limit)) }
}

extension WireError {
    /// A clause for people about the fields of a content; nil for faults that a content cannot have.
    fileprivate var sentence: String? {
        switch self {
        case .missingField(let tag): "the field \(tag) is missing"
        case .duplicateField(let tag): "the field \(tag) is repeated"
        case .invalidValue(let tag): "the field \(tag) has a value that is not valid"
        case .unknownCriticalTag(let tag): "the field \(tag) is critical and not known"
        case .malformedTLV(let offset): "the field at byte \(offset) exceeds its container"
        case .tlvTooDeep(let limit): "more than \(limit) containers are nested"
        case .tooManyTLVs(let limit): "there are more than \(limit) fields"
        default: nil
        }
    }
}
