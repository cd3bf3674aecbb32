import Testing

@testable import MartletWire

@Suite struct MembershipOperationTests {
    //
    @Test("each operation is the same after encoding and parsing, and a missing field is named")
    func operations() throws {
        let room = RoomName("lobby")
        let all: [MembershipOperation] = [
            .join, .leave, .decline, .invite(AccountName("bob")), .read(upTo: 5, log: LogID(rawValue: 7)),
            .read(upTo: 5, log: nil),
        ]
        for operation in all {
            let parsed = try MembershipOperation.parse(operation.method, content: operation.content(of: room))
            #expect(parsed.room == room && parsed.operation == operation)
            #expect(MembershipMethod(operation.method.name) == operation.method)
        }
        let content = MembershipOperation.join.content(of: room)
        #expect(throws: WireError.missingField(.account)) { try MembershipOperation.parse(.invite, content: content) }
        #expect(throws: WireError.missingField(.upTo)) { try MembershipOperation.parse(.read, content: content) }
        #expect(throws: WireError.missingField(.room)) { try MembershipOperation.parse(.join, content: nil) }
    }
}
