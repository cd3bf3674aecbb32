import MartletWire
import Testing

@Suite struct IdentifiersTests {
    @Test func `identifiers are ordered by number and described by it`() {
        #expect(SessionID.control.rawValue == 0)
        #expect(SessionID(rawValue: 1) < SessionID(rawValue: 0x0100))
        #expect(LinkID(rawValue: 9) < LinkID(rawValue: 10))
        #expect(DeviceID(rawValue: 9) < DeviceID(rawValue: 10))
        #expect(Epoch(rawValue: 9) < Epoch(rawValue: 10))
        #expect(SessionID(rawValue: 513).description == "513")
        #expect(Epoch(rawValue: 7).description == "7")
        #expect(LinkID(rawValue: 0xAB).description == "0x00000000000000AB")
        #expect(DeviceID(rawValue: .max).description == "0xFFFFFFFFFFFFFFFF")
    }

    // W-60
    @Test func `message IDs are equal only for equal account, device and counter`() throws {
        let (alice, bob) = (AccountName("alice"), AccountName("bob"))
        let id = MessageID(sender: alice, device: DeviceID(rawValue: 1), counter: 2)
        #expect(id == MessageID(sender: alice, device: DeviceID(rawValue: 1), counter: 2))
        #expect(id != MessageID(sender: bob, device: DeviceID(rawValue: 1), counter: 2))
        #expect(id != MessageID(sender: alice, device: DeviceID(rawValue: 2), counter: 2))
        #expect(id != MessageID(sender: alice, device: DeviceID(rawValue: 1), counter: 3))
        #expect(id.description == "alice/0x0000000000000001/2")
    }

    @Test func `the packed version contains the major version in the high byte`() {
        let version = WireVersion(rawValue: 0x0203)
        #expect(version == WireVersion(major: 2, minor: 3))
        #expect(version.rawValue == 0x0203)
        #expect(WireVersion(major: 1, minor: 255) < version)
        #expect(WireVersion.current.description == "1.0")
    }
}
