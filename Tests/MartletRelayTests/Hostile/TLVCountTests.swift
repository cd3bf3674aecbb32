import MartletLink
import MartletRelay
import MartletWire
import Testing

/// Specs/hostile.md row 13.
@Suite("Too many TLVs in a body end the connection")
struct TLVCountTests {
    @Test("frame with 1,000,000 TLVs closes as tooManyTLVs", arguments: RelayBackend.allCases)
    func million(backend: RelayBackend) async throws {
        let byteCount = 8 << 20
        let limits = Limits(
            maxBodyByteCount: byteCount, maxMessageByteCount: byteCount, linkWindow: byteCount, sessionWindow: byteCount
        )
        try await backend.run({ $0.link.limits = limits }) { fixture in
            let peer = try await fixture.connect()
            try await peer.hello(FrameWriter.hello(limits: limits))
            await peer.write { $0.frame(.ack, TLVBytes.empty(1_000_000)) }
            #expect(try await peer.finalNotice()?.code == .tooManyTLVs)
        }
    }

    @Test(
        "message with 1,025 TLVs, or without room for the relay's four, is refused", arguments: RelayBackend.allCases,
        [1025, 1022])
    func message(backend: RelayBackend, count: Int) async throws {
        try await backend.run { fixture in
            let peer = try await fixture.member()
            let message = Message.encodeClient(counter: 1, kind: .text, content: Message.textContent("hi"))
            // The message has four TLVs: counter, kind, content and text.
            await peer.write { $0.frame(.data, message + TLVBytes.empty(count - 4), on: .first) }
            #expect(try await peer.finalNotice()?.code == .tooManyTLVs)
            #expect(await fixture.storedCount == 0)
        }
    }

    @Test("hello with too many TLVs closes as tooManyTLVs", arguments: RelayBackend.allCases)
    func hello(backend: RelayBackend) async throws {
        try await backend.run { fixture in
            let peer = try await fixture.connect()
            await peer.send(FrameWriter.bytes(.hello, TLVBytes.empty(2000)))
            #expect(try await peer.finalNotice()?.code == .tooManyTLVs)
        }
    }
}
