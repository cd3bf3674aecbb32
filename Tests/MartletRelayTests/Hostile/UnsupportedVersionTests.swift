import MartletWire
import Testing

/// Specs/hostile.md row 2.
@Suite("A connection with an unknown major version is refused")
struct UnsupportedVersionTests {
    // W-39
    @Test(
        "unknown major version closes with unsupportedVersion and the spoken versions", arguments: RelayBackend.allCases
    )
    func major(backend: RelayBackend) async throws {
        try await backend.run { fixture in
            let peer = try await fixture.connect()
            var frame = FrameWriter.bytes(.hello, FrameWriter.hello().encode())
            frame[4] = 2
            await peer.send(frame)
            let notice = try #require(try await peer.finalNotice())
            #expect(notice.code == .unsupportedVersion)
            #expect(notice.spokenVersions == [.current, .newest])
            #expect(peer.heldByteCount(at: fixture) ?? 0 <= 64)
        }
    }

    @Test("unknown version in five bytes closes without a goaway")
    func fiveBytes() async throws {
        let fixture = EngineFixture()
        let peer = fixture.connect()
        for byte: UInt8 in [0x8D, 0x4D, 0x52, 0x54, 9] { await peer.send([byte]) }
        #expect(try await peer.finalNotice() == nil)
        #expect(peer.age == .zero)
    }

    // C-21, C-22
    @Test("unknown minor version is accepted", arguments: RelayBackend.allCases)
    func minor(backend: RelayBackend) async throws {
        try await backend.run { fixture in
            let peer = try await fixture.connect()
            let header = FrameHeader(version: WireVersion(major: 1, minor: 77), type: .hello)
            await peer.send(header.frame(body: FrameWriter.hello().encode().rawBytes))
            let welcome: Welcome = try await peer.expect()
            #expect(welcome.version == .current)
        }
    }

    // W-40, C-22
    @Test("hello without a common major version closes as unsupportedVersion", arguments: RelayBackend.allCases)
    func spoken(backend: RelayBackend) async throws {
        try await backend.run { fixture in
            let peer = try await fixture.connect()
            await peer.send(
                Hello(
                    spokenVersions: [WireVersion(major: 2, minor: 0)], device: DeviceID(rawValue: 1),
                    account: AccountName("alice")))
            let notice = try #require(try await peer.finalNotice())
            #expect(notice.code == .unsupportedVersion)
            #expect(notice.spokenVersions == [.current, .newest])
        }
    }
}
