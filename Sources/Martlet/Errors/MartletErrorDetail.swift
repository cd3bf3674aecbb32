import MartletLink
import MartletTransport
import MartletWire

/// The code of a ``MartletError`` with the details that belong to it.
enum MartletErrorDetail: Hashable, Sendable {
    case invalidEndpoint(String)
    case plaintextNotAllowed(String)
    case invalidConfiguration(String)
    case invalidTLS(TLSError)
    case invalidName(String)
    case invalidContent(String)
    case changeNotAllowed(String)
    case messageTooLarge(byteCount: Int, limit: Int)
    case roomAlreadyOpen(RoomName)
    case tooManyRooms(limit: Int)
    case tooManyRequests(limit: Int)
    case notStarted
    case stopped
    case gaveUp(StopReason)
    case roomClosed(ErrorCode?, room: RoomName?)
    case notAccepted(SendFailure)
    case answeredWithFailure(ErrorCode, reason: String?, retryAfter: Duration?)
    case deadlineExceeded
    case connectionLost
    case logReplaced(current: LogID?)
    case outboxFailed(String)
    case outboxFull(OutboxQuota)
    case outboxOfAnotherAccount(AccountName)
    case unknownDeadLetter
    case alreadyIterating
    case alreadyAcknowledged
    case tooManyReplies(limit: Int)
    case attachmentsUnsupported
    case attachmentRefused(ErrorCode)
    case attachmentDamaged
    case fileFailed(String)
    case tooManyTransfers(limit: Int)

    var code: MartletError.Code {
        switch self {
        case .invalidEndpoint: .invalidEndpoint
        case .plaintextNotAllowed: .plaintextNotAllowed
        case .invalidConfiguration: .invalidConfiguration
        case .invalidTLS: .invalidTLS
        case .invalidName: .invalidName
        case .invalidContent: .invalidContent
        case .changeNotAllowed: .changeNotAllowed
        case .messageTooLarge: .messageTooLarge
        case .roomAlreadyOpen: .roomAlreadyOpen
        case .tooManyRooms: .tooManyRooms
        case .tooManyRequests: .tooManyRequests
        case .notStarted: .notStarted
        case .stopped: .stopped
        case .gaveUp: .gaveUp
        case .roomClosed: .roomClosed
        case .notAccepted: .notAccepted
        case .answeredWithFailure: .answeredWithFailure
        case .deadlineExceeded: .deadlineExceeded
        case .connectionLost: .connectionLost
        case .logReplaced: .logReplaced
        case .outboxFailed: .outboxFailed
        case .outboxFull: .outboxFull
        case .outboxOfAnotherAccount: .outboxOfAnotherAccount
        case .unknownDeadLetter: .unknownDeadLetter
        case .alreadyIterating: .alreadyIterating
        case .alreadyAcknowledged: .alreadyAcknowledged
        case .tooManyReplies: .tooManyReplies
        case .attachmentsUnsupported: .attachmentsUnsupported
        case .attachmentRefused: .attachmentRefused
        case .attachmentDamaged: .attachmentDamaged
        case .fileFailed: .fileFailed
        case .tooManyTransfers: .tooManyTransfers
        }
    }

    var origin: MartletError.Origin {
        switch self {
        case .invalidEndpoint, .plaintextNotAllowed, .invalidConfiguration, .invalidTLS, .invalidName, .invalidContent,
            .changeNotAllowed, .messageTooLarge, .roomAlreadyOpen, .tooManyRooms, .tooManyRequests, .notStarted,
            .stopped, .roomClosed(nil, _):
            .caller
        case .notAccepted(.cancelled), .notAccepted(.closed): .caller
        case .unknownDeadLetter, .alreadyIterating, .alreadyAcknowledged, .tooManyReplies, .tooManyTransfers,
            .fileFailed, .outboxOfAnotherAccount:
            .caller
        case .notAccepted(.expired), .notAccepted(.outcomeUnknown), .deadlineExceeded, .connectionLost,
            .gaveUp(.attemptLimit):
            .network
        case .gaveUp, .roomClosed, .notAccepted, .logReplaced, .attachmentsUnsupported, .attachmentRefused: .relay
        case .answeredWithFailure, .attachmentDamaged: .member
        case .outboxFailed, .outboxFull: .storage
        }
    }

    var scope: MartletError.Scope {
        switch self {
        case .invalidEndpoint, .plaintextNotAllowed, .invalidConfiguration, .invalidTLS, .notStarted, .stopped, .gaveUp:
            .client
        case .roomClosed: .room
        case .invalidContent, .changeNotAllowed, .messageTooLarge, .notAccepted: .message
        case .invalidName, .roomAlreadyOpen, .tooManyRooms, .tooManyRequests, .answeredWithFailure,
            .deadlineExceeded, .connectionLost, .logReplaced, .outboxFailed, .outboxFull, .unknownDeadLetter,
            .alreadyIterating, .alreadyAcknowledged, .tooManyReplies, .attachmentsUnsupported, .attachmentRefused,
            .attachmentDamaged, .fileFailed, .tooManyTransfers, .outboxOfAnotherAccount:
            .call
        }
    }
}
