import Martlet
import Testing

@Suite("Errors of the client")
struct MartletErrorTests {
    @Test(arguments: [
        (MartletError.plaintextNotAllowed("martlet://host"), MartletError.Origin.caller, MartletError.Scope.client),
        (.messageTooLarge(byteCount: 2, limit: 1), .caller, .message),
        (.roomClosed(nil), .caller, .room),
        (.roomClosed(.roomForbidden), .relay, .room),
        (.gaveUp(.unauthenticated), .relay, .client),
        (.gaveUp(.attemptLimit), .network, .client),
        (.notAccepted(.refused(.storeUnavailable, reason: nil)), .relay, .message),
        (.notAccepted(.cancelled), .caller, .message),
        (.answeredWithFailure(.refused, reason: nil), .member, .call),
        (.connectionLost, .network, .call),
        (.logReplaced(current: nil), .relay, .call),
        (.outboxFailed("disk full"), .storage, .call),
    ])
    func `an error has the origin and scope of its code`(
        error: MartletError, origin: MartletError.Origin, scope: MartletError.Scope
    ) {
        #expect(error.origin == origin)
        #expect(error.scope == scope)
        #expect(!error.description.isEmpty)
    }

    @Test func `an error has the details of its code, and no others`() {
        let large = MartletError.messageTooLarge(byteCount: 2, limit: 1)
        #expect(large.code == .messageTooLarge && large.byteCount == 2 && large.limit == 1)
        #expect(large.room == nil && large.errorCode == nil && large.reason == nil && large.quota == nil)
        let closed = MartletError.roomClosed(.kicked, room: "lobby")
        #expect(closed.room == "lobby" && closed.errorCode == .kicked && closed.limit == nil)
        #expect(MartletError.roomAlreadyOpen("lobby").room == "lobby")
        let refused = MartletError.notAccepted(.refused(.roomFull, reason: "later"))
        #expect(refused.errorCode == .roomFull && refused.reason == "later")
        #expect(refused.sendFailure == .refused(.roomFull, reason: "later"))
        #expect(MartletError.gaveUp(.revoked).stopReason == .revoked)
        #expect(MartletError.logReplaced(current: LogID(rawValue: 7)).currentLog == LogID(rawValue: 7))
        #expect(MartletError.invalidName("a\n").argument == "a\n")
        let full = MartletError.outboxFull(limit: .bytes(30))
        #expect(full.quota == .bytes(30) && full.limit == 30 && full.byteCount == nil)
    }

    // S-65
    @Test func `a request that failed with retryAfter has the duration in its error and description`() {
        let busy = MartletError.answeredWithFailure(.tooManyRequests, retryAfter: .milliseconds(1500))
        #expect(busy.retryAfter == .milliseconds(1500) && busy.errorCode == .tooManyRequests)
        #expect(busy.description.hasSuffix("try again after 1.5 seconds"))
        #expect(busy.description.contains("the relay's rate of requests is exceeded"))
        #expect(busy != .answeredWithFailure(.tooManyRequests))
        #expect(MartletError.answeredWithFailure(.refused).retryAfter == nil && MartletError.stopped.retryAfter == nil)
    }

    @Test func `errors that differ only in the underlying error are equal`() {
        let plain = MartletError.outboxFailed("disk full")
        let caused = MartletError.outboxFailed("disk full", underlying: TLSError.notTLS)
        #expect(plain == caused && Set([plain, caused]).count == 1)
        #expect(caused.underlying as? TLSError == .notTLS)
        #expect(MartletError.invalidTLS(.notTLS).underlying as? TLSError == .notTLS)
        #expect(plain != .outboxFailed("disk slow") && MartletError.stopped != .notStarted)
    }

    @Test func `a code as a pattern of catch matches the errors with the code`() {
        func match(_ error: any Error) -> String {
            do { throw error } catch MartletError.Code.roomClosed {
                return "closed"
            } catch let error as MartletError where error.code == .stopped {
                return "stopped"
            } catch {
                return "other"
            }
        }
        #expect(match(MartletError.roomClosed(.kicked, room: "lobby")) == "closed")
        #expect(match(MartletError.stopped) == "stopped")
        #expect(match(MartletError.notStarted) == "other")
        #expect(match(CancellationError()) == "other")
    }

    @Test func `the description contains the reason of the relay or the outbox`() {
        let refused = MartletError.notAccepted(.refused(.roomFull, reason: "come back later"))
        #expect(refused.description.hasSuffix("come back later"))
        #expect(MartletError.outboxFailed("disk full").description.hasSuffix("disk full"))
    }

    @Test(arguments: [
        (MartletError.invalidName("a\n"), #""a\u{000A}" is not a valid name: U+000A is not allowed"#),
        (.invalidName("\u{1B}[31mx"), #""\u{001B}[31mx" is not a valid name: U+001B is not allowed"#),
        (.invalidName(" x"), #"" x" is not a valid name: it begins with a space"#),
        (.invalidEndpoint(""), "no address of a relay"),
        (.invalidEndpoint("\u{202E}x"), #""\u{202E}x" is not a valid relay address"#),
        (.roomAlreadyOpen("lobby"), "the room lobby is already open"),
        (
            .answeredWithFailure(.refused, reason: "no\r\nmore"),
            #"the request failed: the receiver refused, no\u{000D}\u{000A}more"#
        ),
        (.outboxFailed("disk\u{7}"), #"the outbox failed: disk\u{0007}"#),
    ])
    func `unprintable characters of a text are escaped in the description`(error: MartletError, line: String) {
        #expect(error.description == line)
    }
}
