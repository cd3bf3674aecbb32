import MartletProtocol
import MartletWire
import Testing

/// Specs/hostile.md row 5.
@Suite("A slow handshake or frame ends the connection at its deadline")
struct SlowHandshakeTests {
    @Test("a connection that says nothing has 5 s for its hello", arguments: Venue.allCases)
    func silence(venue: Venue) async throws {
        try await venue.play(shorten: { $0.handshakeTimeout = .milliseconds(50) }) { stage in
            let peer = try await stage.connect()
            // Nothing was received, so nothing is said.
            #expect(try await peer.farewell() == nil)
            if let age = peer.age { #expect(age == .seconds(5)) }
        }
    }

    @Test("a hello in pieces has 5 s for all of them", arguments: Venue.allCases)
    func pieces(venue: Venue) async throws {
        try await venue.play(shorten: { $0.handshakeTimeout = .milliseconds(50) }) { stage in
            let peer = try await stage.connect()
            await peer.send(Array(Speaker.bytes(.hello, Speaker.hello().encode()).dropLast()))
            #expect(peer.heldByteCount(at: stage) ?? 0 <= 16 * 1024)
            // On a busy machine the deadline may come before the bytes, which would pay for the words.
            let code = try await peer.farewell()?.code
            #expect(code == .handshakeTimeout || peer.age == nil && code == nil)
            if let age = peer.age { #expect(age == .seconds(5)) }
            #expect(stage.faults == [.handshakeTimeout])
        }
    }

    // C-10
    @Test("a byte a second of a hello does not move the deadline")
    func drip() async throws {
        let hall = VirtualHall()
        let peer = hall.connect()
        for byte in Speaker.bytes(.hello, Speaker.hello().encode()) {
            hall.run(for: .seconds(1))
            await peer.send([byte])
        }
        #expect(peer.isOver)
        #expect(hall.notes == [.faulted(.handshakeTimeout)])
    }

    @Test("a frame has 30 s from its first byte to its last", arguments: Venue.allCases)
    func frame(venue: Venue) async throws {
        try await venue.play(shorten: { $0.frameTimeout = .milliseconds(50) }) { stage in
            let peer = try await stage.member()
            await peer.say { Array($0.text("never whole", counter: 1, on: .first).dropLast()) }
            #expect(try await peer.farewell()?.code == .frameTimeout)
            if let age = peer.age { #expect(age == .seconds(30)) }
            #expect(await stage.storedCount == 0)
        }
    }

    @Test("a byte a second of a frame does not move the deadline, whole frames between do")
    func dripAfterHandshake() async throws {
        let hall = VirtualHall()
        let peer = hall.connect()
        try await peer.hello()
        for _ in 0..<10 {
            await peer.send(Array(Speaker.bytes(.ping, Ping(nonce: 1).encode()).prefix(20)))
            hall.run(for: .seconds(29))
            await peer.send(Array(Speaker.bytes(.ping, Ping(nonce: 1).encode()).dropFirst(20)))
        }
        #expect(!peer.isOver)
        for byte in Speaker.bytes(.ping, Ping(nonce: 1).encode()).prefix(40) where !peer.isOver {
            await peer.send([byte])
            hall.run(for: .seconds(1))
        }
        #expect(try await peer.farewell()?.code == .frameTimeout)
        #expect(peer.age == .seconds(320))
    }
}
