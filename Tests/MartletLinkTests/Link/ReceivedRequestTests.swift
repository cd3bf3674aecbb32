import MartletTestSupport
import MartletWire
import Testing

@testable import MartletLink

@Suite struct ReceivedRequestTests {
    private func received(_ body: [UInt8]) throws(LinkError) -> ReceivedRequest {
        try ReceivedRequest(parsing: body.rawBytes)
    }

    // S-58
    @Test func `a request with an invalid field is answered with its correlation`() throws {
        var body = TLVWriter(reserving: 0)
        body.append(.correlation, uint64: 7)
        #expect(try received(body.bytes) == .invalid(Response(correlation: 7, status: .missingField)))
        body.append(.correlation, uint64: 7)
        #expect(try received(body.bytes) == .invalid(Response(correlation: 7, status: .duplicateField)))
        #expect(try received(body.bytes).declined.status == .duplicateField)
    }

    // S-58
    @Test func `a request without a correlation, or with an invalid structure, is a fault of the connection`() {
        #expect(throws: LinkError.peer(.missingField)) { try received([]) }
        #expect(throws: LinkError.peer(.malformedTLV)) { try received([1, 2, 3]) }
    }

    @Test func `a declined request is answered with an unknown method or a missing recipient`() throws {
        let mine = Request(correlation: 1, method: .locate, deadline: .seconds(1))
        #expect(try received(mine.encode()) == .valid(mine))
        #expect(try received(mine.encode()).declined == Response(correlation: 1, status: .unknownMethod))
        let another = Request(correlation: 2, method: .locate, deadline: .seconds(1), recipient: .bob)
        #expect(try received(another.encode()).declined == Response(correlation: 2, status: .noRecipient))
    }
}
