extension MartletError.Code {
    /// The text ``MartletError/argument`` is not a valid relay address. It is empty if the list of addresses is empty.
    public static let invalidEndpoint = Self(rawValue: "invalidEndpoint")
    /// The address ``MartletError/argument`` has the scheme `martlet://`, which does not use TLS, and its host is not
    /// this machine, or the credentials contain a password. See ``Client/Configuration/allowsPlaintext``.
    public static let plaintextNotAllowed = Self(rawValue: "plaintextNotAllowed")
    /// A property of the configuration is out of its range. ``MartletError/reason`` names the property and the range.
    public static let invalidConfiguration = Self(rawValue: "invalidConfiguration")
    /// The TLS options are not valid. ``MartletError/underlying`` is a `TLSError` that names the file.
    public static let invalidTLS = Self(rawValue: "invalidTLS")
    /// The text ``MartletError/argument`` is not a valid name of an account, a room or a method: it is empty or too
    /// long, or contains a character that names exclude (W-31).
    public static let invalidName = Self(rawValue: "invalidName")
    /// The content is not a sequence of well-formed TLVs, or lacks a field that its kind requires.
    /// ``MartletError/reason`` describes the fault.
    public static let invalidContent = Self(rawValue: "invalidContent")
    /// The message that an edit or a deletion names is of another account, or has no text that can be edited (M-4,
    /// M-9). ``MartletError/reason`` says which.
    public static let changeNotAllowed = Self(rawValue: "changeNotAllowed")
    /// The content has ``MartletError/byteCount`` bytes, and exceeds ``MartletError/limit``.
    public static let messageTooLarge = Self(rawValue: "messageTooLarge")
    /// The client has already opened ``MartletError/room``.
    public static let roomAlreadyOpen = Self(rawValue: "roomAlreadyOpen")
    /// The client has `Configuration.maxRooms` open rooms.
    public static let tooManyRooms = Self(rawValue: "tooManyRooms")
    /// The client has `Configuration.maxRequests` requests without an answer.
    public static let tooManyRequests = Self(rawValue: "tooManyRequests")
    /// The client has not been started.
    public static let notStarted = Self(rawValue: "notStarted")
    /// The client has been stopped.
    public static let stopped = Self(rawValue: "stopped")
    /// The client has stopped retrying to connect, for ``MartletError/stopReason``. ``Client/retryNow()`` starts a new
    /// attempt.
    public static let gaveUp = Self(rawValue: "gaveUp")
    /// The room is closed. ``MartletError/errorCode`` is the relay's, or nil if the application closed the room.
    public static let roomClosed = Self(rawValue: "roomClosed")
    /// The message has failed: the relay will not accept it. ``MartletError/sendFailure`` is the reason.
    public static let notAccepted = Self(rawValue: "notAccepted")
    /// The request was answered with the failure ``MartletError/errorCode``.
    public static let answeredWithFailure = Self(rawValue: "answeredWithFailure")
    /// The request or the opening of a room was not answered within its timeout.
    public static let deadlineExceeded = Self(rawValue: "deadlineExceeded")
    /// The link ended before the request was answered. It is unknown whether the request was executed.
    public static let connectionLost = Self(rawValue: "connectionLost")
    /// The cursor belongs to a log that the relay has lost. ``MartletError/currentLog`` is the current log.
    public static let logReplaced = Self(rawValue: "logReplaced")
    /// The outbox threw ``MartletError/underlying``.
    public static let outboxFailed = Self(rawValue: "outboxFailed")
    /// The outbox contains as many messages or bytes without an outcome as its ``MartletError/quota`` permits. Wait
    /// until messages are accepted, or cancel some.
    public static let outboxFull = Self(rawValue: "outboxFull")
    /// The outbox contains the messages of another account, which the error names. Use an outbox for each account.
    public static let outboxOfAnotherAccount = Self(rawValue: "outboxOfAnotherAccount")
    /// The outbox does not contain the dead letter that a message replaces. It was retried, discarded or removed
    /// before. ``Room/retry(_:)`` then returns nil.
    public static let unknownDeadLetter = Self(rawValue: "unknownDeadLetter")
    /// Another iteration over the messages of the room is active.
    public static let alreadyIterating = Self(rawValue: "alreadyIterating")
    /// The delivery, or a later one of the room, was acknowledged before, or another iteration returns it again.
    public static let alreadyAcknowledged = Self(rawValue: "alreadyAcknowledged")
    /// The number of replies of a delivery exceeds ``MartletError/limit``.
    public static let tooManyReplies = Self(rawValue: "tooManyReplies")
    /// The relay serves no attachments.
    public static let attachmentsUnsupported = Self(rawValue: "attachmentsUnsupported")
    /// The relay has refused the transfer of an attachment with ``MartletError/errorCode``: `unknownAttachment` if the
    /// relay does not have the attachment, or no longer has it, `attachmentTooLarge`, `attachmentQuota`,
    /// `attachmentsFull` or `forbidden`.
    public static let attachmentRefused = Self(rawValue: "attachmentRefused")
    /// The bytes of an attachment do not have its digest or length, or the file has changed during the upload.
    public static let attachmentDamaged = Self(rawValue: "attachmentDamaged")
    /// A file cannot be read or written. ``MartletError/reason`` is the system's, with the path.
    public static let fileFailed = Self(rawValue: "fileFailed")
    /// The client has ``MartletError/limit`` transfers of attachments.
    public static let tooManyTransfers = Self(rawValue: "tooManyTransfers")

    /// All codes of this version, for example to check a translation.
    public static let known: [Self] = [
        .invalidEndpoint, .plaintextNotAllowed, .invalidConfiguration, .invalidTLS, .invalidName, .invalidContent,
        .changeNotAllowed,
        .messageTooLarge, .roomAlreadyOpen, .tooManyRooms, .tooManyRequests, .notStarted, .stopped, .gaveUp,
        .roomClosed, .notAccepted, .answeredWithFailure, .deadlineExceeded, .connectionLost, .logReplaced,
        .outboxFailed, .outboxFull, .outboxOfAnotherAccount, .unknownDeadLetter, .alreadyIterating,
        .alreadyAcknowledged, .tooManyReplies,
        .attachmentsUnsupported, .attachmentRefused, .attachmentDamaged, .fileFailed, .tooManyTransfers,
    ]

    /// Returns whether an error is a ``MartletError`` with a code, for `catch MartletError.Code.stopped`.
    public static func ~= (code: Self, error: any Error) -> Bool {
        (error as? MartletError)?.code == code
    }
}

extension MartletError.Code: CustomStringConvertible {
    /// The name of the code.
    public var description: String { rawValue }
}
