import MartletWire
import Testing

@Suite struct FrameFlagsTests {
    @Test(arguments: zip(Priority.allCases, [0x00, 0x10, 0x20, 0x30] as [UInt8]))
    func `the priority is stored in bits 4 and 5 and preserves the others`(priority: Priority, bits: UInt8) {
        let flags = FrameFlags([.reliable, .checksummed], priority: priority)
        #expect(flags.rawValue == 0x09 | bits)
        #expect(flags.priority == priority)
        var changed = FrameFlags(rawValue: 0xFF)
        changed.priority = priority
        #expect(changed.rawValue == 0xCF | bits)
    }

    @Test func `urgent priorities sort before others`() {
        #expect(Priority.allCases.sorted() == [.urgent, .high, .normal, .low])
    }

    // W-16
    @Test func `flags have the bits of the specification`() {
        #expect(FrameFlags.reliable.rawValue == 0x01)
        #expect(FrameFlags.moreFragments.rawValue == 0x02)
        #expect(FrameFlags.ackNow.rawValue == 0x04)
        #expect(FrameFlags.checksummed.rawValue == 0x08)
        #expect(FrameFlags.reserved.rawValue == 0xC0)
        #expect(FrameFlags(priority: .urgent) == [])
    }
}
