import MartletLink
import MartletRelay
import MartletWire
import Testing

/// Specs/hostile.md row 5.
@Suite("A slow handshake or frame ends the connection at its deadline")
struct SlowHandshakeTests {
    @Test("connection without a hello closes after 5 s", arguments: RelayBackend.allCases)
    func silence(backend: RelayBackend) async throws {
        try await backend.run(shorten: { $0.link.handshakeTimeout = .milliseconds(50) }) { fixture in
            let peer = try await fixture.connect()
            // Nothing was received, so no reply is allowed.
            #expect(try await peer.finalNotice() == nil)
            if let age = peer.age { #expect(age == .seconds(5)) }
        }
    }

    @Test("partial hello closes after 5 s", arguments: RelayBackend.allCases)
    func pieces(backend: RelayBackend) async throws {
        try await backend.run(shorten: { $0.link.handshakeTimeout = .milliseconds(50) }) { fixture in
            let peer = try await fixture.connect()
            await peer.send(Array(FrameWriter.bytes(.hello, FrameWriter.hello().encode()).dropLast()))
            #expect(peer.heldByteCount(at: fixture) ?? 0 <= 16 * 1024)
            // On a busy machine the deadline may precede the bytes that allow a reply.
            let code = try await peer.finalNotice()?.code
            #expect(code == .handshakeTimeout || peer.age == nil && code == nil)
            if let age = peer.age { #expect(age == .seconds(5)) }
            #expect(fixture.faults == [.handshakeTimeout])
        }
    }

    // C-10
    @Test("one byte a second does not extend the deadline of the hello")
    func drip() async throws {
        let fixture = EngineFixture()
        let peer = fixture.connect()
        for byte in FrameWriter.bytes(.hello, FrameWriter.hello().encode()) {
            fixture.run(for: .seconds(1))
            await peer.send([byte])
        }
        #expect(peer.isClosed)
        #expect(fixture.notes == [.link(.faulted(.handshakeTimeout))])
    }

    @Test("partial frame closes after 30 s", arguments: RelayBackend.allCases)
    func frame(backend: RelayBackend) async throws {
        try await backend.run(shorten: { $0.link.frameTimeout = .milliseconds(50) }) { fixture in
            let peer = try await fixture.member()
            await peer.write { Array($0.text("never whole", counter: 1, on: .first).dropLast()) }
            #expect(try await peer.finalNotice()?.code == .frameTimeout)
            if let age = peer.age { #expect(age == .seconds(30)) }
            #expect(await fixture.storedCount == 0)
        }
    }

    @Test("one byte a second does not extend the deadline of a frame, complete frames do")
    func dripAfterHandshake() async throws {
        let fixture = EngineFixture()
        let peer = fixture.connect()
        try await peer.hello()
        for _ in 0..<10 {
            await peer.send(Array(FrameWriter.bytes(.ping, Ping(nonce: 1).encode()).prefix(20)))
            fixture.run(for: .seconds(29))
            await peer.send(Array(FrameWriter.bytes(.ping, Ping(nonce: 1).encode()).dropFirst(20)))
        }
        #expect(!peer.isClosed)
        for byte in FrameWriter.bytes(.ping, Ping(nonce: 1).encode()).prefix(40) where !peer.isClosed {
            await peer.send([byte])
            fixture.run(for: .seconds(1))
        }
        #expect(try await peer.finalNotice()?.code == .frameTimeout)
        #expect(peer.age == .seconds(320))
    }
}
