import MartletLink
import MartletWire
import Testing

/// Specs/hostile.md row 12.
@Suite("TLVs nested too deep end the connection")
struct NestedTLVTests {
    @Test("containers nested 9 or 10,000 deep close as tlvTooDeep", arguments: RelayBackend.allCases, [9, 10_000])
    func depth(backend: RelayBackend, depth: Int) async throws {
        try await backend.run { fixture in
            let peer = try await fixture.member()
            await peer.write { $0.frame(.data, TLVBytes.nested(depth), on: .first) }
            #expect(try await peer.finalNotice()?.code == .tlvTooDeep)
            #expect(await fixture.storedCount == 0)
        }
    }

    @Test("containers nested 2,000 deep in a hello close as tlvTooDeep", arguments: RelayBackend.allCases)
    func hello(backend: RelayBackend) async throws {
        try await backend.run { fixture in
            let peer = try await fixture.connect()
            await peer.send(FrameWriter.bytes(.hello, TLVBytes.nested(2000)))
            #expect(try await peer.finalNotice()?.code == .tlvTooDeep)
        }
    }

    @Test("containers nested eight deep are accepted", arguments: RelayBackend.allCases)
    func eight(backend: RelayBackend) async throws {
        try await backend.run { fixture in
            let peer = try await fixture.member()
            let kind = ContentKind(rawValue: 0xF000)
            let body = Message.encodeClient(counter: 1, kind: kind, content: TLVBytes.nested(7))
            await peer.write { $0.frame(.data, body, on: .first) }
            let accepted: Accepted = try await peer.next()
            #expect(accepted.runs.first?.firstOffset == 1)
        }
    }
}
