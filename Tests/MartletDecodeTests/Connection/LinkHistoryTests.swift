import MartletToolTestSupport
import MartletWire
import Testing

@testable import MartletDecode

@Suite struct LinkHistoryTests {
    private func header(_ sequence: UInt32, _ type: FrameType = .data, more: Bool = false) -> FrameHeader {
        FrameHeader(
            type: type, sequence: sequence, flags: more ? [.reliable, .moreFragments] : .reliable,
            session: SessionID(rawValue: 1))
    }

    private func position(_ sequence: UInt64, again: Bool = false, missing: UInt64 = 0) -> LinkHistory.Position {
        LinkHistory.Position(sequence: sequence, isRepeated: again, missingCount: missing)
    }

    @Test func `sequences of a link from its beginning → repeated and missing ones are recognized`() {
        let history = LinkHistory(.link, budget: JoinBudget())
        #expect(history.locate(header(1), from: .client) == position(1))
        #expect(history.locate(header(1), from: .server) == position(1))
        #expect(history.locate(header(1), from: .client) == position(1, again: true))
        #expect(history.locate(header(5), from: .client) == position(5, missing: 3))
        #expect(history.locate(header(6), from: .client) == position(6))
        #expect(history.locate(header(.max), from: .client).isRepeated)
    }

    @Test func `the low 32 bits of a sequence wrap around`() {
        let history = LinkHistory(.anywhere, budget: JoinBudget())
        #expect(history.locate(header(.max), from: .client) == position(0xFFFF_FFFF))
        #expect(history.locate(header(0), from: .client) == position(0x1_0000_0000))
        #expect(history.locate(header(.max), from: .client) == position(0xFFFF_FFFF, again: true))
    }

    @Test func `fragments are joined to one body`() throws {
        let history = LinkHistory(.link, budget: JoinBudget())
        #expect(try history.join(header(1, more: true), [1, 2], from: .client, limit: 4) == .part(1))
        #expect(try history.join(header(1), [9], from: .server, limit: 4) == .whole([9], fragmentCount: 1))
        #expect(try history.join(header(2, more: true), [3], from: .client, limit: 4) == .part(2))
        #expect(try history.join(header(3), [4], from: .client, limit: 4) == .whole([1, 2, 3, 4], fragmentCount: 3))
        #expect(try history.join(header(4), [5], from: .client, limit: 4) == .whole([5], fragmentCount: 1))
    }

    @Test func `another type between fragments → protocolViolation, a long message → messageTooLarge`() throws {
        let history = LinkHistory(.link, budget: JoinBudget())
        _ = try history.join(header(1, more: true), [1], from: .client, limit: 4)
        let fault = #expect(throws: DecodeFault.self) {
            try history.join(header(2, .close), [], from: .client, limit: 4)
        }
        #expect(fault?.code == .protocolViolation)
        _ = try history.join(header(1, more: true), [1, 2, 3], from: .client, limit: 4)
        let second = #expect(throws: DecodeFault.self) {
            try history.join(header(2, more: true), [4, 5], from: .client, limit: 4)
        }
        #expect(second?.code == .messageTooLarge)
    }

    @Test func `the partial messages of all links together are bounded`() throws {
        let budget = JoinBudget()
        let half = [UInt8](repeating: 0, count: JoinBudget.maxByteCount / 2)
        let first = LinkHistory(.link, budget: budget)
        #expect(try first.join(header(1, more: true), half, from: .client, limit: .max) == .part(1))
        do {
            let second = LinkHistory(.link, budget: budget)
            #expect(try second.join(header(1, more: true), half, from: .client, limit: .max) == .part(1))
            #expect(try first.join(header(1, more: true), [1], from: .server, limit: .max) == .discarded)
            #expect(!first.isSure(SessionID(rawValue: 1), .server))
        }
        #expect(try first.join(header(2, more: true), half, from: .client, limit: .max) == .part(2))
    }

    @Test func `an ended session has no room, and its ID may be opened again`() throws {
        let history = LinkHistory(.link, budget: JoinBudget())
        let id = SessionID(rawValue: 1)
        #expect(history.locate(header(1, .open), from: .client) == position(1))
        history.follow(Handshake.open("den"), header(1, .open), from: .client)
        #expect(history.room(of: id) == "den")
        _ = history.locate(header(2), from: .client)
        for sender in [PeerRole.client, .server] { history.follow(.close(Close()), header(3, .close), from: sender) }
        #expect(history.locate(header(1, .open), from: .client) == position(1))
        #expect(history.room(of: id) == nil)
        history.follow(Handshake.open("attic"), header(1, .open), from: .client)
        history.follow(.reset(Reset(session: id, code: .roomFull)), header(1, .reset), from: .server)
        #expect(history.locate(header(1, .open), from: .client) == position(1))
    }
}
