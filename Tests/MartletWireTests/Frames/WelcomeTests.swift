import MartletWire
import Testing

@Suite("Welcome")
struct WelcomeTests {
    private func welcome(resumed: [SessionPosition]?) -> Welcome {
        Welcome(
            features: [.zlib, .receipts], limits: .minimum, account: ada, link: LinkID(rawValue: 5),
            resumeToken: token, epoch: Epoch(rawValue: 2), resumeLifetime: .seconds(600),
            heartbeatInterval: .seconds(30), resumed: resumed)
    }

    // W-36
    @Test("a welcome encodes to these bytes")
    func golden() {
        let positions = [SessionPosition(session: SessionID(rawValue: 1), received: 9)]
        let expected = bytes(
            hex: """
                0005 00000002 0100
                0010 00000008 0000000000000005
                0101 00000030
                    0020 00000004 00004400
                    0021 00000004 00004000
                    0022 00000004 00004400
                    0023 00000004 00004400
                    0024 00000002 0001
                0012 00000003 616461
                0015 00000008 0000000000000005
                0016 00000020 000102030405060708090A0B0C0D0E0F101112131415161718191A1B1C1D1E1F
                0018 00000004 00000002
                0019 00000004 00000258
                001A 00000004 00007530
                0102 00000010
                    0017 0000000A 0001 0000000000000009
                """)
        #expect(welcome(resumed: positions).encode() == expected)
    }

    // W-36
    @Test("a resumed link without sessions differs from a new link")
    func resumedWithoutSessions() throws {
        for resumed in [nil, []] as [[SessionPosition]?] {
            let parsed = try Welcome(parsing: welcome(resumed: resumed).encode().rawBytes)
            #expect(parsed.resumed == resumed)
        }
    }

    @Test("durations are rounded to whole units and clamped to 32 bits")
    func durations() {
        let odd = Welcome(
            features: [], limits: Limits(), account: ada, link: LinkID(rawValue: 5), resumeToken: token,
            epoch: Epoch(rawValue: 2), resumeLifetime: .milliseconds(2_999), heartbeatInterval: .seconds(-1))
        #expect(odd.resumeLifetime == .seconds(2))
        #expect(odd.heartbeatInterval == .zero)
        let long = Welcome(
            features: [], limits: Limits(), account: ada, link: LinkID(rawValue: 5), resumeToken: token,
            epoch: Epoch(rawValue: 2), resumeLifetime: .seconds(Int64.max), heartbeatInterval: .seconds(1 << 32))
        #expect(long.resumeLifetime == .seconds(UInt32.max))
        #expect(long.heartbeatInterval == .milliseconds(UInt32.max))
    }
}
