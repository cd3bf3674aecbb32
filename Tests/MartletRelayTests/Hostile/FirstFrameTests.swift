import MartletWire
import Testing

/// Specs/hostile.md row 4.
@Suite("A first frame other than hello ends the connection")
struct FirstFrameTests {
    // W-32
    @Test(
        "first frame of any other type closes as expectedHello", arguments: RelayBackend.allCases,
        FrameType.registered.filter { $0 != .hello })
    func anotherType(backend: RelayBackend, type: FrameType) async throws {
        try await backend.run { fixture in
            let peer = try await fixture.connect()
            await peer.send(FrameWriter.bytes(type, [UInt8](repeating: 0, count: 64)))
            #expect(try await peer.finalNotice()?.code == .expectedHello)
        }
    }

    @Test("header of another type closes as expectedHello before its body", arguments: RelayBackend.allCases)
    func fromHeader(backend: RelayBackend) async throws {
        try await backend.run { fixture in
            let peer = try await fixture.connect()
            await peer.send(FrameWriter.header(.data, bodyByteCount: 12 * 1024, session: .first))
            #expect(try await peer.finalNotice()?.code == .expectedHello)
            #expect(peer.heldByteCount(at: fixture) ?? 0 <= 4096)
        }
    }

    // C-13, W-8, W-32
    @Test(
        "first frame of another type with a wrong checksum closes as expectedHello, divided anywhere",
        arguments: RelayBackend.allCases)
    func wrongChecksum(backend: RelayBackend) async throws {
        try await backend.run { fixture in
            var bytes = FrameWriter.bytes(.ping, TLVBytes.leaf(.nonce, [0, 0, 0, 0, 0, 0, 0, 1]))
            bytes[bytes.count - 1] ^= 1
            for end in [1, 27, 28, 29, bytes.count] {
                let peer = try await fixture.connect()
                await peer.send(Array(bytes[..<end]))
                await peer.send(Array(bytes[end...]))
                #expect(try await peer.finalNotice()?.code == .expectedHello)
            }
        }
    }

    @Test("hello with a session, sequence or flags closes as protocolViolation", arguments: RelayBackend.allCases)
    func misplaced(backend: RelayBackend) async throws {
        try await backend.run { fixture in
            let body = FrameWriter.hello().encode()
            for header in [
                FrameHeader(type: .hello, session: .first), FrameHeader(type: .hello, sequence: 1),
                FrameHeader(type: .hello, flags: .moreFragments), FrameHeader(type: .hello, flags: .reliable),
            ] {
                let peer = try await fixture.connect()
                await peer.send(header.frame(body: body.rawBytes))
                #expect(try await peer.finalNotice()?.code == .protocolViolation)
            }
        }
    }

    // W-32, C-13
    @Test("hello without a required field closes as invalidHello", arguments: RelayBackend.allCases)
    func lacking(backend: RelayBackend) async throws {
        try await backend.run { fixture in
            let peer = try await fixture.connect()
            await peer.send(FrameWriter.bytes(.hello, TLVBytes.leaf(.device, [0, 0, 0, 0, 0, 0, 0, 1])))
            #expect(try await peer.expect(Reject.self).notice.code == .invalidHello)
            #expect(try await peer.finalNotice() == nil)
        }
    }

    // W-32
    @Test("second hello closes as protocolViolation", arguments: RelayBackend.allCases)
    func second(backend: RelayBackend) async throws {
        try await backend.run { fixture in
            let peer = try await fixture.member()
            await peer.send(FrameWriter.hello())
            #expect(try await peer.finalNotice()?.code == .protocolViolation)
        }
    }
}
