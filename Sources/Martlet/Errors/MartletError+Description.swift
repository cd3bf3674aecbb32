import MartletLink

extension MartletError: CustomStringConvertible {
    /// A description in one line. Unprintable characters of a text that came from outside the library appear as
    /// `\u{XXXX}`.
    public var description: String { PrintableText.line(sentence) }

    private var sentence: String {
        switch detail {
        case .invalidEndpoint(""): "no address of a relay"
        case .invalidEndpoint(let text): "\"\(text)\" is not a valid relay address"
        case .plaintextNotAllowed(let text):
            "\"\(text)\" does not use TLS, which is allowed to this machine only, without a password"
        case .invalidConfiguration(let text): "the configuration is not valid: \(text)"
        case .invalidTLS(let error): "\(error)"
        case .invalidName(let text): "\"\(text)\" is not a valid name\(NameFault(text).map { ": \($0)" } ?? "")"
        case .invalidContent(let text): "the content is not valid: \(text)"
        case .changeNotAllowed(let text): "the message cannot be changed: \(text)"
        case .messageTooLarge(let byteCount, let limit): "the content has \(byteCount) bytes; the limit is \(limit)"
        case .roomAlreadyOpen(let name): "the room \(name) is already open"
        case .tooManyRooms(let limit): "\(limit) rooms are open, which is the limit"
        case .tooManyRequests(let limit): "\(limit) requests have no answer yet, which is the limit"
        case .notStarted: "the client has not been started"
        case .stopped: "the client has been stopped"
        case .gaveUp(let reason): "the client has stopped retrying: \(reason)"
        case .roomClosed(nil, _): "the room has been closed"
        case .roomClosed(let code?, _): "the relay closed the room: \(code)"
        // The relay serves no session for the file of the message.
        case .notAccepted(.refused(.unsupportedKind, let reason?)): "the message was refused: \(reason)"
        case .notAccepted(.refused(let code, let reason)):
            "the message was refused: \(code)\(reason.map { ", \($0)" } ?? "")"
        case .notAccepted(.fileFailed): "the file of the message could not be read, or has changed"
        case .notAccepted(.outcomeUnknown): "it is unknown whether the message was accepted"
        case .notAccepted(let failure): "the message was not accepted: \(failure)"
        case .answeredWithFailure(.tooManyRequests, nil, let retryAfter?):
            // Only a refusal by a rate has this duration (R-72).
            "the request failed: the relay's rate of requests is exceeded, try again after \(retryAfter)"
        case .answeredWithFailure(let code, let reason, let retryAfter):
            "the request failed: \(code)\(reason.map { ", \($0)" } ?? "")"
                + (retryAfter.map { ", try again after \($0)" } ?? "")
        case .deadlineExceeded: "the call was not answered within its timeout"
        case .connectionLost: "the link ended before the request was answered"
        case .logReplaced: "the relay has lost the log to which the cursor belongs"
        case .outboxFailed(let text): "the outbox failed: \(text)"
        case .outboxFull(.messages(let count)): "the outbox contains \(count) unaccepted messages, which is the limit"
        case .outboxFull(.bytes(let count)): "the unaccepted messages of the outbox exceed the limit of \(count) bytes"
        case .outboxOfAnotherAccount(let account): "the outbox contains the messages of the account \"\(account)\""
        case .alreadyIterating: "another iteration over the messages of the room is active"
        case .alreadyAcknowledged: "the delivery was acknowledged before, or is returned again"
        case .tooManyReplies(let limit): "the delivery has too many replies; the limit is \(limit)"
        case .attachmentsUnsupported: "the relay serves no attachments"
        case .attachmentRefused(let code): "the relay refused the attachment: \(code)"
        case .attachmentDamaged: "the bytes of the attachment do not have its digest or length"
        case .fileFailed(let text): "the file failed: \(text)"
        case .tooManyTransfers(let limit): "\(limit) transfers are in progress, which is the limit"
        case .unknownDeadLetter: "the failed message was retried or discarded before"
        }
    }
}
