import MartletLink
import MartletRelay
import MartletWire
import Testing

/// Specs/hostile.md row 8.
@Suite("A stream that ends inside a frame is an error")
struct UnexpectedEndTests {
    // W-2
    @Test(
        "end of stream inside a data frame closes as unexpectedEOF and delivers nothing of it",
        arguments: RelayBackend.allCases)
    func insideData(backend: RelayBackend) async throws {
        try await backend.run { fixture in
            let peer = try await fixture.member()
            try await peer.publish("whole", counter: 1)
            // An automatic reply would continue the incomplete frame.
            await peer.stopReplying()
            await peer.write { Array($0.text("half", counter: 2, on: .first).dropLast(3)) }
            await peer.finish()
            // On a socket this peer no longer receives.
            #expect(try await peer.finalNotice()?.code ?? .unexpectedEOF == .unexpectedEOF)
            #expect(fixture.faults == [.unexpectedEOF])
            #expect(await fixture.storedCount == 1)
        }
    }

    @Test("end of stream inside a hello closes as unexpectedEOF", arguments: RelayBackend.allCases)
    func insideHello(backend: RelayBackend) async throws {
        try await backend.run { fixture in
            let peer = try await fixture.connect()
            await peer.send(Array(FrameWriter.bytes(.hello, FrameWriter.hello().encode()).prefix(40)))
            await peer.finish()
            #expect(try await peer.finalNotice()?.code ?? .unexpectedEOF == .unexpectedEOF)
            #expect(fixture.faults == [.unexpectedEOF])
        }
    }

    @Test("end of stream between frames suspends the link", arguments: RelayBackend.allCases)
    func betweenFrames(backend: RelayBackend) async throws {
        try await backend.run { fixture in
            let peer = try await fixture.member()
            await peer.finish()
            #expect(try await peer.finalNotice() == nil)
            #expect(await fixture.statistics.faults == 0)
            #expect(await fixture.statistics.suspendedLinks == 1)
        }
    }
}
