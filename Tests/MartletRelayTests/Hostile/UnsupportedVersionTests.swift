import MartletWire
import Testing

/// Specs/hostile.md row 2.
@Suite("A connection with an unknown major version is refused")
struct UnsupportedVersionTests {
    // W-39
    @Test("the peer is told which versions are spoken", arguments: Venue.allCases)
    func major(venue: Venue) async throws {
        try await venue.play { stage in
            let peer = try await stage.connect()
            var frame = Speaker.bytes(.hello, Speaker.hello().encode())
            frame[4] = 2
            await peer.send(frame)
            let notice = try #require(try await peer.farewell())
            #expect(notice.code == .unsupportedVersion)
            #expect(notice.spokenVersions == [.current, .newest])
            #expect(peer.heldByteCount(at: stage) ?? 0 <= 64)
        }
    }

    @Test("five bytes are enough to refuse, and too few for a goaway")
    func fiveBytes() async throws {
        let hall = VirtualHall()
        let peer = hall.connect()
        for byte: UInt8 in [0x8D, 0x4D, 0x52, 0x54, 9] { await peer.send([byte]) }
        #expect(try await peer.farewell() == nil)
        #expect(peer.age == .zero)
    }

    // C-21, C-22
    @Test("an unknown minor version is taken", arguments: Venue.allCases)
    func minor(venue: Venue) async throws {
        try await venue.play { stage in
            let peer = try await stage.connect()
            let header = FrameHeader(version: WireVersion(major: 1, minor: 77), type: .hello)
            await peer.send(header.frame(body: Speaker.hello().encode().rawBytes))
            let welcome: Welcome = try await peer.expect()
            #expect(welcome.version == .current)
        }
    }

    // W-40, C-22
    @Test("a hello that speaks no major version of ours is refused", arguments: Venue.allCases)
    func spoken(venue: Venue) async throws {
        try await venue.play { stage in
            let peer = try await stage.connect()
            await peer.send(
                Hello(
                    spokenVersions: [WireVersion(major: 2, minor: 0)], device: DeviceID(rawValue: 1),
                    account: AccountName("alice")!))
            let notice = try #require(try await peer.farewell())
            #expect(notice.code == .unsupportedVersion)
            #expect(notice.spokenVersions == [.current, .newest])
        }
    }
}
