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
}
