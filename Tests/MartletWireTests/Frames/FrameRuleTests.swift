import MartletWire
import Testing

@Suite("Frame rules")
struct FrameRuleTests {
    private func allows(
        _ type: FrameType, _ flags: FrameFlags, session: UInt16, sequence: UInt32 = 0, compression: Compression = .none
    ) -> Bool? {
        type.rule?.allows(
            FrameHeader(
                type: type, sequence: sequence, flags: flags, compression: compression,
                session: SessionID(rawValue: session)))
    }

    // W-13, W-21
    @Test("only reliable types may have the flag reliable, a sequence and fragments")
    func reliability() {
        #expect(allows(.data, .reliable, session: 1, sequence: 5) == true)
        #expect(allows(.data, [.reliable, .moreFragments], session: 1, sequence: 5) == true)
        #expect(allows(.data, [], session: 1) == false)
        #expect(allows(.transient, [], session: 1) == true)
        #expect(allows(.transient, .reliable, session: 1) == false)
        #expect(allows(.transient, [], session: 1, sequence: 1) == false)
        #expect(allows(.transient, .moreFragments, session: 1) == false)
    }

    @Test(
        "only types with long bodies may be sent in fragments",
        arguments: [FrameType.data, .opened, .request, .response, .receipt, .accepted, .gap, .open, .close, .cancel])
    func fragments(_ type: FrameType) {
        let allowsFragments = [.data, .opened, .request, .response].contains(type)
        #expect(allows(type, [.reliable, .moreFragments], session: 1, sequence: 5) == allowsFragments)
    }

    // W-74, S-1
    @Test("a type is allowed only on its sessions")
    func scope() {
        #expect(allows(.data, .reliable, session: 0) == false)
        #expect(allows(.ping, [], session: 0) == true)
        #expect(allows(.ping, [], session: 1) == false)
        #expect(allows(.reset, .reliable, session: 0) == true)
        #expect(allows(.reset, .reliable, session: 1) == false)
        #expect(allows(.request, .reliable, session: 0) == true)
        #expect(allows(.request, .reliable, session: 1) == true)
    }

    // W-20
    @Test("compressed frames of the handshake are refused", arguments: [FrameType.hello, .welcome, .reject])
    func handshake(_ type: FrameType) {
        #expect(allows(type, [], session: 0) == true)
        #expect(allows(type, [], session: 0, compression: .zlib) == false)
        #expect(allows(.data, .reliable, session: 1, compression: .zlib) == true)
    }
}
