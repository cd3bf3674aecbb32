import MartletWire
import Testing

@Suite("Notices")
struct NoticeTests {
    @Test("a long reason is truncated between scalars")
    func clipping() {
        #expect(Notice(code: .draining, reason: String(repeating: "a", count: 300)).reason?.utf8.count == 256)
        #expect(Notice(code: .draining, reason: String(repeating: "語", count: 100)).reason?.utf8.count == 255)
        #expect(Notice(code: .draining, reason: "").reason == "")
        let exact = String(repeating: "é", count: 128)
        #expect(Notice(code: .draining, reason: exact).reason == exact)
    }

    @Test("retryAfter is rounded to whole milliseconds")
    func retryAfter() {
        #expect(Notice(code: .serverBusy, retryAfter: .microseconds(1_999)).retryAfter == .milliseconds(1))
        #expect(Notice(code: .serverBusy, retryAfter: .microseconds(-1)).retryAfter == .zero)
    }

    // W-38, W-43
    @Test("reject and goaway contain the same notice")
    func bodies() throws {
        let notice = Notice(code: .redirected, redirect: "b.example:7400")
        #expect(Reject(notice).encode() == GoAway(notice).encode())
        #expect(try GoAway(parsing: Reject(notice).encode().rawBytes).notice == notice)
    }
}
