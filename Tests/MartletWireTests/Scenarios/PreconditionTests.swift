import MartletWire
import Testing

/// Values that every reader would refuse cannot be created.
@Suite("Precondition violations trap")
struct PreconditionTests {
    @Test("limits below the minimum or beyond their field trap")
    func limits() async {
        await #expect(processExitsWith: .failure) { _ = Limits(maxBodyByteCount: 17_407) }
        await #expect(processExitsWith: .failure) { _ = Limits(maxBodyByteCount: 1 << 30 + 1) }
        await #expect(processExitsWith: .failure) { _ = Limits(linkWindow: 1 << 32) }
        await #expect(processExitsWith: .failure) { _ = Limits(maxSessions: 65_536) }
    }

    @Test("more elements than a frame may contain trap")
    func counts() async {
        await #expect(processExitsWith: .failure) {
            _ = Hello(spokenVersions: [], device: DeviceID(rawValue: 1), account: AccountName("a"))
        }
        await #expect(processExitsWith: .failure) {
            _ = Opened(head: 0, first: 0, members: Array(repeating: AccountName("a"), count: 257))
        }
        await #expect(processExitsWith: .failure) { _ = Accepted(runs: []) }
        await #expect(processExitsWith: .failure) {
            let session = SessionAck(session: .control, cumulative: 0, creditLimit: 0)
            _ = Ack(linkCredit: 0, sessions: Array(repeating: session, count: 257))
        }
        await #expect(processExitsWith: .failure) {
            let position = SessionPosition(session: .control, received: 0)
            _ = ResumePoint(link: LinkID(rawValue: 1), token: ResumeToken(1, 2, 3, 4), positions: [position, position])
        }
    }

    @Test("numbers below 1 trap")
    func numbers() async {
        await #expect(processExitsWith: .failure) { _ = AcceptedRun(firstCounter: 0, count: 1, firstOffset: 1) }
        await #expect(processExitsWith: .failure) { _ = Gap(offsets: 0...1) }
        await #expect(processExitsWith: .failure) { _ = Message.encodeClient(counter: 0, kind: .image, content: []) }
        await #expect(processExitsWith: .failure) { _ = Receipt.Refusal(counter: 0, code: .refused) }
    }

    @Test("unordered ranges, a reset of the control session, and invalid content trap")
    func meanings() async {
        await #expect(processExitsWith: .failure) {
            _ = SessionAck(session: .control, cumulative: 5, creditLimit: 0, ranges: [6...7])
        }
        await #expect(processExitsWith: .failure) { _ = Reset(session: .control, code: .refused) }
        await #expect(processExitsWith: .failure) { _ = Message(counter: 1, kind: .text, content: []) }
        await #expect(processExitsWith: .failure) { _ = Response(correlation: 1, content: [1]) }
        await #expect(processExitsWith: .failure) { _ = Notice(code: .redirected, redirect: "") }
    }
}
