import MartletWire
import Testing

@Suite struct RegistryTests {
    @Test func `a registered number has a name and a sentence`() {
        #expect(FrameType.goaway.description == "goaway")
        #expect(Tag.sessionAck.description == "sessionAck")
        #expect(ErrorCode.staleEpoch.name == "staleEpoch")
        #expect(ErrorCode.staleEpoch.description == "the link continues on a newer connection")
    }

    @Test func `a number outside the registry is described in hexadecimal`() {
        #expect(FrameType(rawValue: 0x7001).description == "0x7001")
        #expect(Tag(rawValue: 0x4ABC).description == "0x4ABC")
        #expect(ErrorCode(rawValue: 0xF00D).name == "0xF00D")
        #expect(ErrorCode(rawValue: 0x0F00).description == "error 0x0F00")
    }

    @Test func `a number with the highest bit is critical`() {
        #expect(FrameType(rawValue: 0x8000).isCritical)
        #expect(!FrameType(rawValue: 0x7FFF).isCritical)
        #expect(Tag(rawValue: 0x8001).isCritical)
        #expect(!FrameType.registered.contains { $0.isCritical })
        #expect(!Tag.registered.contains { $0.isCritical })
    }

    // W-26
    @Test(
        arguments: [
            (0x00FF, false), (0x0100, true), (0x01FF, true), (0x0200, false), (0x80FF, false), (0x8100, true),
            (0x81FF, true),
            (0x8200, false), (0x4142, false),
        ] as [(UInt16, Bool)])
    func `the number of a tag determines whether it is a container`(number: UInt16, isContainer: Bool) {
        #expect(Tag(rawValue: number).isContainer == isContainer)
    }

    @Test func `of the registered tags only limits, resume, content, array, object and detail are containers`() {
        #expect(Tag.registered.filter(\.isContainer) == [.limits, .resume, .content, .array, .object, .detail])
    }
}
