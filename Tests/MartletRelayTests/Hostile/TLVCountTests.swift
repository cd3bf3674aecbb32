import MartletProtocol
import MartletWire
import Testing

/// Specs/hostile.md row 13.
@Suite("Too many TLVs in a body end the connection")
struct TLVCountTests {
    @Test("are refused after the 1,024th", arguments: Venue.allCases)
    func million(venue: Venue) async throws {
        let byteCount = 8 << 20
        let limits = Limits(
            maxBodyByteCount: byteCount, maxMessageByteCount: byteCount, linkWindow: byteCount, sessionWindow: byteCount
        )
        try await venue.play({ $0.limits = limits }) { stage in
            let peer = try await stage.connect()
            try await peer.hello(Speaker.hello(limits: limits))
            await peer.say { $0.frame(.ack, TLVBytes.empty(1_000_000)) }
            #expect(try await peer.farewell()?.code == .tooManyTLVs)
        }
    }

    @Test("1,025 in a message, and as many as leave a relay's four no room", arguments: Venue.allCases, [1025, 1022])
    func message(venue: Venue, count: Int) async throws {
        try await venue.play { stage in
            let peer = try await stage.member()
            let message = Message.encodeClient(counter: 1, kind: .text, content: Message.textContent("hi"))
            // Counter, kind, content and the text in it are four.
            await peer.say { $0.frame(.data, message + TLVBytes.empty(count - 4), on: .first) }
            #expect(try await peer.farewell()?.code == .tooManyTLVs)
            #expect(await stage.storedCount == 0)
        }
    }

    @Test("in a hello", arguments: Venue.allCases)
    func hello(venue: Venue) async throws {
        try await venue.play { stage in
            let peer = try await stage.connect()
            await peer.send(Speaker.bytes(.hello, TLVBytes.empty(2000)))
            #expect(try await peer.farewell()?.code == .tooManyTLVs)
        }
    }
}
