import MartletProtocol
import MartletWire
import Testing

/// Specs/hostile.md row 8.
@Suite("A stream that ends inside a frame is an error")
struct UnexpectedEndTests {
    // W-2
    @Test("nothing of the frame is delivered, and the peer is told", arguments: Venue.allCases)
    func insideData(venue: Venue) async throws {
        try await venue.play { stage in
            let peer = try await stage.member()
            try await peer.post("whole", counter: 1)
            await peer.say { Array($0.text("half", counter: 2, on: .first).dropLast(3)) }
            await peer.finish()
            // On a socket this peer has closed its ears as well as its mouth.
            #expect(try await peer.farewell()?.code ?? .unexpectedEOF == .unexpectedEOF)
            #expect(stage.faults == [.unexpectedEOF])
            #expect(await stage.storedCount == 1)
        }
    }

    @Test("inside a hello", arguments: Venue.allCases)
    func insideHello(venue: Venue) async throws {
        try await venue.play { stage in
            let peer = try await stage.connect()
            await peer.send(Array(Speaker.bytes(.hello, Speaker.hello().encode()).prefix(40)))
            await peer.finish()
            #expect(try await peer.farewell()?.code ?? .unexpectedEOF == .unexpectedEOF)
            #expect(stage.faults == [.unexpectedEOF])
        }
    }

    @Test("between two frames it is an end like any other, and the link waits", arguments: Venue.allCases)
    func betweenFrames(venue: Venue) async throws {
        try await venue.play { stage in
            let peer = try await stage.member()
            await peer.finish()
            #expect(try await peer.farewell() == nil)
            #expect(await stage.statistics.faults == 0)
            #expect(await stage.statistics.suspendedLinks == 1)
        }
    }
}
