import MartletWire
import Testing

@testable import MartletLink

@Suite struct LinkErrorTests {
    @Test func `an error has a scope, a code and an origin`() {
        #expect(LinkError.peer(.ackUnsent) == LinkError(scope: .connection, code: .ackUnsent, origin: .peer))
        #expect(LinkError.session(.messageTooLarge).scope == .session)
        #expect(LinkError.local(.tooManySessions).origin == .local)
        #expect(
            LinkError(WireError.invalidValue(.nonce)) == LinkError(scope: .frame, code: .invalidValue, origin: .peer))
        #expect(LinkError(WireError.badMagic(0)).scope == .connection)
    }
}
