import Foundation
import Martlet
import Testing

/// The tables of Guides/strings.md contain all keys.
@Suite("Strings to localize")
struct StringsGuideTests {
    private let guide: String

    init() throws {
        var root = URL(filePath: #filePath)
        for _ in 1...4 { root.deleteLastPathComponent() }
        guide = try String(contentsOf: root.appending(path: "Guides/strings.md"), encoding: .utf8)
    }

    private func hasRow(_ key: String) -> Bool { guide.contains("\n| `\(key)` |") }

    @Test func `the guide has a row for every code, phase and reason`() {
        for code in MartletError.Code.known { #expect(hasRow(code.rawValue), "\(code)") }
        #expect(Set(MartletError.Code.known).count == MartletError.Code.known.count)
        let phases: [Client.Status.Phase] = [
            .idle, .connecting(attempt: 1), .signingIn, .online, .waiting(.userRequested), .paused(.noPath), .stopping,
            .stopped(nil), .stopped(.revoked),
        ]
        for phase in phases { #expect(hasRow(phase.key), "\(phase)") }
        let stops: [StopReason] = [
            .unauthenticated, .forbidden, .revoked, .replaced, .unsupportedVersion, .serverUnverified, .attemptLimit,
        ]
        for reason in stops { #expect(hasRow(reason.key), "\(reason)") }
        let failures: [SendFailure] = [
            .refused(.roomFull, reason: nil), .expired, .cancelled, .closed, .outcomeUnknown, .fileFailed,
        ]
        for failure in failures { #expect(hasRow(failure.key), "\(failure)") }
    }

    @Test func `the guide names the property with the name of an error code`() {
        #expect(guide.contains("names, `code.name`,") && ErrorCode.kicked.name == "kicked")
        #expect("\(ErrorCode.kicked)" != ErrorCode.kicked.name)
    }

    @Test func `every code that an error can have is known`() {
        let errors: [MartletError] = [
            .invalidEndpoint(""), .plaintextNotAllowed(""), .invalidConfiguration(""), .invalidTLS(.notTLS),
            .invalidName(""), .invalidContent(""), .changeNotAllowed(""), .messageTooLarge(byteCount: 1, limit: 0),
            .roomAlreadyOpen("lobby"),
            .tooManyRooms(limit: 0), .tooManyRequests(limit: 0), .notStarted, .stopped, .gaveUp(.revoked),
            .roomClosed(), .notAccepted(.expired), .answeredWithFailure(.refused), .deadlineExceeded, .connectionLost,
            .logReplaced(current: nil), .outboxFailed(""), .outboxFull(limit: .messages(0)),
            .outboxOfAnotherAccount("ada"), .unknownDeadLetter, .alreadyIterating, .alreadyAcknowledged,
            .tooManyReplies(limit: 0), .attachmentsUnsupported,
            .attachmentRefused(.forbidden), .attachmentDamaged, .fileFailed(path: "", ""), .tooManyTransfers(limit: 0),
        ]
        #expect(Set(errors.map(\.code)) == Set(MartletError.Code.known))
        #expect(errors.allSatisfy { $0.localizedDescription == $0.description && !$0.description.isEmpty })
    }
}
