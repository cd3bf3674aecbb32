import MartletProtocol
import MartletWire
import Testing

/// Specs/hostile.md row 12.
@Suite("TLVs nested too deep end the connection")
struct NestedTLVTests {
    @Test("nine deep, and built to recurse 10,000 deep", arguments: Venue.allCases, [9, 10_000])
    func depth(venue: Venue, depth: Int) async throws {
        try await venue.play { stage in
            let peer = try await stage.member()
            await peer.say { $0.frame(.data, TLVBytes.nested(depth), on: .first) }
            #expect(try await peer.farewell()?.code == .tlvTooDeep)
            #expect(await stage.storedCount == 0)
        }
    }

    @Test("in a hello, before anybody knows who it is", arguments: Venue.allCases)
    func hello(venue: Venue) async throws {
        try await venue.play { stage in
            let peer = try await stage.connect()
            await peer.send(Speaker.bytes(.hello, TLVBytes.nested(2000)))
            #expect(try await peer.farewell()?.code == .tlvTooDeep)
        }
    }

    @Test("eight deep is fine", arguments: Venue.allCases)
    func eight(venue: Venue) async throws {
        try await venue.play { stage in
            let peer = try await stage.member()
            let kind = ContentKind(rawValue: 0xF000)
            let body = Message.encodeClient(counter: 1, kind: kind, content: TLVBytes.nested(7))
            await peer.say { $0.frame(.data, body, on: .first) }
            let accepted: Accepted = try await peer.next()
            #expect(accepted.runs.first?.firstOffset == 1)
        }
    }
}
