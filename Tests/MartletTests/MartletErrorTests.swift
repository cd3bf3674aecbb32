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
    func `an error has the origin and scope of its case`(
        error: MartletError, origin: MartletError.Origin, scope: MartletError.Scope
    ) {
        #expect(error.origin == origin)
        #expect(error.scope == scope)
        #expect(!error.description.isEmpty)
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
