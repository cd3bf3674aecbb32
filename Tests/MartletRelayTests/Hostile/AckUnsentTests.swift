import MartletLink
import MartletWire
import Testing

/// Specs/hostile.md row 19.
@Suite("An acknowledgement of unsent data ends the connection")
struct AckUnsentTests {
    private static let wrong: [SessionAck] = [
        SessionAck(session: .first, cumulative: 2, creditLimit: 1 << 20),
        SessionAck(session: .first, cumulative: .max, creditLimit: .max),
        SessionAck(session: .control, cumulative: 1, creditLimit: 0),
        SessionAck(session: .first, cumulative: 0, creditLimit: 0, ranges: [2...3]),
        SessionAck(session: .first, cumulative: 0, creditLimit: 0, ranges: [2...UInt64.max]),
    ]

    @Test(
        "acknowledgement of unsent frames closes as ackUnsent and acknowledges nothing",
        arguments: RelayBackend.allCases, wrong)
    func unsent(backend: RelayBackend, part: SessionAck) async throws {
        try await backend.run { fixture in
            let peer = try await fixture.connect()
            // Sent at `opened`, because a peer that is silent for 7 s is closed (S-29).
            await peer.setAutoReply { writer, frame in
                guard frame.header.type == .opened else { return [] }
                return writer.frame(Ack(linkCredit: 1 << 20, sessions: [part]))
            }
            let welcome = try await peer.hello()
            try await peer.open()
            #expect(try await peer.finalNotice()?.code == .ackUnsent)

            // `opened` was not acknowledged, so it is retransmitted.
            let again = try await fixture.connect()
            let resume = welcome.resumePoint([:])
            #expect(try await again.hello(FrameWriter.hello(resume: resume)).resumed != nil)
            let opened: Opened = try await again.expect()
            #expect(opened.head == 0)
        }
    }
}
