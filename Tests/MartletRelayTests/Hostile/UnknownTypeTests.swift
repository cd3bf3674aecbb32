import MartletProtocol
import MartletWire
import Testing

/// Specs/hostile.md row 10.
@Suite("Unknown frame types and tags are skipped unless critical")
struct UnknownTypeTests {
    @Test("an unknown frame that is not critical is skipped, and what follows is taken", arguments: Venue.allCases)
    func skipped(venue: Venue) async throws {
        try await venue.play { stage in
            let peer = try await stage.member()
            await peer.say { $0.frame(FrameType(rawValue: 0x7123), [1, 2, 3]) }
            await peer.say { $0.frame(FrameType(rawValue: 0x7124), [], on: .first, flags: .reliable) }
            #expect(try await peer.post("still here", counter: 1) == 1)
        }
    }

    @Test("a reliable one is acknowledged nevertheless", arguments: Venue.allCases)
    func acknowledged(venue: Venue) async throws {
        try await venue.play { stage in
            let peer = try await stage.member()
            await peer.say { $0.frame(FrameType(rawValue: 0x7124), [], on: .first, flags: [.reliable, .ackNow]) }
            while true {
                let ack: Ack = try await peer.next()
                if ack.sessions.contains(where: { $0.session == .first && $0.cumulative == 2 }) { break }
            }
        }
    }

    @Test("one that is critical is refused", arguments: Venue.allCases)
    func critical(venue: Venue) async throws {
        try await venue.play { stage in
            let peer = try await stage.member()
            await peer.say { $0.frame(FrameType(rawValue: 0xF001), [1, 2, 3]) }
            #expect(try await peer.farewell()?.code == .unknownCritical)
        }
    }

    @Test("more than 32 in a minute are a flood", arguments: Venue.allCases)
    func flood(venue: Venue) async throws {
        try await venue.play { stage in
            let peer = try await stage.member()
            await peer.say { speaker in
                (0..<32).flatMap { _ in speaker.frame(FrameType(rawValue: 0x7123), []) }
            }
            #expect(try await peer.post("32 are fine", counter: 1) == 1)
            await peer.say { speaker in
                (0..<40).flatMap { _ in speaker.frame(FrameType(rawValue: 0x7123), []) }
            }
            #expect(try await peer.farewell()?.code == .unknownFlood)
        }
    }

    @Test(
        "an unknown tag is kept and passed on; a critical one beside the content is refused", arguments: Venue.allCases)
    func tags(venue: Venue) async throws {
        try await venue.play { stage in
            let reader = try await stage.member("bob", device: 2)
            let peer = try await stage.member()
            let text = Message.encodeClient(counter: 1, kind: .text, content: Message.textContent("hi"))
            await peer.say { $0.frame(.data, text + TLVBytes.leaf(Tag(rawValue: 0x4001), [7]), on: .first) }
            let frame = try await reader.frame(skipping: [.ack, .transient, .ping, .receipt])
            #expect(frame.header.type == .data)
            #expect(frame.body.suffix(7) == TLVBytes.leaf(Tag(rawValue: 0x4001), [7])[...])

            let second = Message.encodeClient(counter: 2, kind: .text, content: Message.textContent("hi"))
            await peer.say { $0.frame(.data, second + TLVBytes.leaf(Tag(rawValue: 0xC001), [7]), on: .first) }
            #expect(try await peer.farewell()?.code == .unknownCritical)
        }
    }

    // W-29
    @Test("inside of a content a critical tag is the application's affair", arguments: Venue.allCases)
    func criticalContent(venue: Venue) async throws {
        try await venue.play { stage in
            let peer = try await stage.member()
            let content = TLVBytes.leaf(Tag(rawValue: 0xC001), [7])
            let kind = ContentKind(rawValue: 0xF000)
            await peer.say {
                $0.frame(.data, Message.encodeClient(counter: 1, kind: kind, content: content), on: .first)
            }
            let accepted: Accepted = try await peer.next()
            #expect(accepted.runs.first?.firstCounter == 1)
        }
    }
}
