import MartletProtocol
import MartletWire
import Testing

/// Specs/hostile.md row 1.
@Suite("A connection with the wrong magic is refused")
struct WrongMagicTests {
    // W-5
    @Test("a stream of another protocol is refused at its first bytes", arguments: Venue.allCases)
    func anotherProtocol(venue: Venue) async throws {
        try await venue.play { stage in
            let peer = try await stage.connect()
            await peer.send([UInt8]("GET /index.html HTTP/1.1\r\n".utf8))
            #expect(try await peer.farewell()?.code == .badMagic)
            #expect(peer.heldByteCount(at: stage) ?? 0 <= 64)
            #expect(await stage.statistics.faults == 1)
        }
    }

    @Test("the second frame's magic counts as the first's", arguments: Venue.allCases)
    func behindAFrame(venue: Venue) async throws {
        try await venue.play { stage in
            let peer = try await stage.member()
            await peer.say { $0.text("good", counter: 1, on: .first) + [0x8D, 0x4D, 0x52, 0x55] }
            #expect(try await peer.farewell()?.code == .badMagic)
            #expect(await stage.storedCount == 1)
        }
    }

    @Test("a prefix that may become a magic is waited for and costs 64 bytes at the most")
    func prefix() async throws {
        let hall = VirtualHall()
        let peer = hall.connect()
        await peer.send([0x8D, 0x4D, 0x52])
        #expect(hall.heldByteCount(of: peer) <= 64)
        #expect(!peer.isOver)
        await peer.send([0x00])
        // Four bytes pay for twelve, and no goaway is that short.
        #expect(try await peer.farewell() == nil)
        #expect(peer.age == .zero)
    }
}
