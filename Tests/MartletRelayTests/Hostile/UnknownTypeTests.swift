import MartletLink
import MartletWire
import Testing

/// Specs/hostile.md row 10.
@Suite("Unknown frame types and tags are skipped unless critical")
struct UnknownTypeTests {
    @Test("unknown frame is skipped, and the next frame is processed", arguments: RelayBackend.allCases)
    func skipped(backend: RelayBackend) async throws {
        try await backend.run { fixture in
            let peer = try await fixture.member()
            await peer.write { $0.frame(FrameType(rawValue: 0x7123), [1, 2, 3]) }
            await peer.write { $0.frame(FrameType(rawValue: 0x7124), [], on: .first, flags: .reliable) }
            #expect(try await peer.publish("still here", counter: 1) == 1)
        }
    }

    @Test("unknown reliable frame is acknowledged", arguments: RelayBackend.allCases)
    func acknowledged(backend: RelayBackend) async throws {
        try await backend.run { fixture in
            let peer = try await fixture.member()
            await peer.write { $0.frame(FrameType(rawValue: 0x7124), [], on: .first, flags: [.reliable, .ackNow]) }
            while true {
                let ack: Ack = try await peer.next()
                if ack.sessions.contains(where: { $0.session == .first && $0.cumulative == 2 }) { break }
            }
        }
    }

    @Test("unknown critical frame closes as unknownCritical", arguments: RelayBackend.allCases)
    func critical(backend: RelayBackend) async throws {
        try await backend.run { fixture in
            let peer = try await fixture.member()
            await peer.write { $0.frame(FrameType(rawValue: 0xF001), [1, 2, 3]) }
            #expect(try await peer.finalNotice()?.code == .unknownCritical)
        }
    }

    @Test("more than 32 unknown frames in a minute close as unknownFlood", arguments: RelayBackend.allCases)
    func flood(backend: RelayBackend) async throws {
        try await backend.run { fixture in
            let peer = try await fixture.member()
            await peer.write { writer in
                (0..<32).flatMap { _ in writer.frame(FrameType(rawValue: 0x7123), []) }
            }
            #expect(try await peer.publish("32 are fine", counter: 1) == 1)
            await peer.write { writer in
                (0..<40).flatMap { _ in writer.frame(FrameType(rawValue: 0x7123), []) }
            }
            #expect(try await peer.finalNotice()?.code == .unknownFlood)
        }
    }

    @Test(
        "unknown tag is forwarded, unknown critical tag beside the content closes as unknownCritical",
        arguments: RelayBackend.allCases)
    func tags(backend: RelayBackend) async throws {
        try await backend.run { fixture in
            let reader = try await fixture.member("bob", device: 2)
            let peer = try await fixture.member()
            let text = Message.encodeClient(counter: 1, kind: .text, content: Message.textContent("hi"))
            await peer.write { $0.frame(.data, text + TLVBytes.leaf(Tag(rawValue: 0x4001), [7]), on: .first) }
            let frame = try await reader.frame(skipping: [.ack, .transient, .ping, .receipt])
            #expect(frame.header.type == .data)
            #expect(frame.body.suffix(7) == TLVBytes.leaf(Tag(rawValue: 0x4001), [7])[...])

            let second = Message.encodeClient(counter: 2, kind: .text, content: Message.textContent("hi"))
            await peer.write { $0.frame(.data, second + TLVBytes.leaf(Tag(rawValue: 0xC001), [7]), on: .first) }
            #expect(try await peer.finalNotice()?.code == .unknownCritical)
        }
    }

    // W-29
    @Test("unknown critical tag inside the content is accepted", arguments: RelayBackend.allCases)
    func criticalContent(backend: RelayBackend) async throws {
        try await backend.run { fixture in
            let peer = try await fixture.member()
            let content = TLVBytes.leaf(Tag(rawValue: 0xC001), [7])
            let kind = ContentKind(rawValue: 0xF000)
            await peer.write {
                $0.frame(.data, Message.encodeClient(counter: 1, kind: kind, content: content), on: .first)
            }
            let accepted: Accepted = try await peer.next()
            #expect(accepted.runs.first?.firstCounter == 1)
        }
    }
}
