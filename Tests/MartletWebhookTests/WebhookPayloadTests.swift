import MartletLink
import MartletRelay
import MartletWire
import Testing

@testable import MartletWebhook

@Suite
struct WebhookPayloadTests {
    private func text(_ report: UndeliveredReport, includesContent: Bool) -> String {
        String(decoding: WebhookPayload.encode(report, includesContent: includesContent), as: UTF8.self)
    }

    // R-138
    @Test("a document has the text of the message only if it is to be included")
    func content() {
        let report = UndeliveredReport.sample
        let head =
            #"{"lastOffset":7,"log":"2a","message":{"acceptedAt":1700000000000,"#
            + #""device":"ab","kind":4097,"offset":7,"#
        let tail = #"},"recipients":[{"account":"bob","count":2}],"room":"a/b","type":"undelivered","version":1}"#
        #expect(text(report, includesContent: false) == head + #""sender":"alice""# + tail)
        let shown = #""sender":"alice","shortened":false,"text":"say \"hi\"""#
        #expect(text(report, includesContent: true) == head + shown + tail)
    }

    // R-138
    @Test("a document about messages that have left memory has no message, and one without a log no log")
    func minimal() {
        var report = UndeliveredReport.sample
        (report.message, report.log) = (nil, nil)
        let found = text(report, includesContent: true)
        #expect(
            found == #"{"lastOffset":7,"recipients":[{"account":"bob","count":2}],"room":"a/b","#
                + #""type":"undelivered","version":1}"#)
    }
}
