import Martlet
import Testing

@Suite("An error says who failed and how far it reaches")
struct MartletErrorTests {
    @Test(arguments: [
        (MartletError.tlsUnavailable, MartletError.Origin.caller, MartletError.Scope.client),
        (.messageTooLarge(byteCount: 2, limit: 1), .caller, .message),
        (.roomClosed(nil), .caller, .room),
        (.roomClosed(.roomForbidden), .relay, .room),
        (.gaveUp(.unauthenticated), .relay, .client),
        (.gaveUp(.attemptLimit), .network, .client),
        (.notAccepted(.refused(.storeUnavailable, reason: nil)), .relay, .message),
        (.notAccepted(.cancelled), .caller, .message),
        (.answeredWithFailure(.refused, reason: nil), .member, .call),
        (.connectionLost, .network, .call),
        (.outboxFailed("disk full"), .storage, .call),
    ])
    func `by its case`(error: MartletError, origin: MartletError.Origin, scope: MartletError.Scope) {
        #expect(error.origin == origin)
        #expect(error.scope == scope)
        #expect(!error.description.isEmpty)
    }

    @Test func `what others said of it is part of the line`() {
        let refused = MartletError.notAccepted(.refused(.roomFull, reason: "come back later"))
        #expect(refused.description.hasSuffix("come back later"))
        #expect(MartletError.outboxFailed("disk full").description.hasSuffix("disk full"))
    }

    @Test(arguments: [
        (MartletError.invalidName("a\n"), #""a\u{000A}" is no name: U+000A is not allowed"#),
        (.invalidName("\u{1B}[31mx"), #""\u{001B}[31mx" is no name: U+001B is not allowed"#),
        (.invalidName(" x"), #"" x" is no name: it begins with a blank"#),
        (.invalidEndpoint("\u{202E}x"), #""\u{202E}x" names no relay"#),
        (.roomAlreadyOpen("lobby"), "the room lobby is open already"),
        (
            .answeredWithFailure(.refused, reason: "no\r\nmore"),
            #"the request failed: the receiver refused, no\u{000D}\u{000A}more"#
        ),
        (.outboxFailed("disk\u{7}"), #"the outbox failed: disk\u{0007}"#),
    ])
    func `texts from outside are printable and stay on the line`(error: MartletError, line: String) {
        #expect(error.description == line)
    }
}
