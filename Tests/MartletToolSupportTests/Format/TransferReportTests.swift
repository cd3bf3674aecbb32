import Foundation
import Testing

@testable import MartletToolSupport

@Suite struct TransferReportTests {
    private func parse(_ line: String) -> TransferReport? {
        try? JSONDecoder().decode(TransferReport.self, from: Data(line.utf8))
    }

    @Test func `a report equals its parsed line`() {
        var report = TransferReport()
        report.event = .summary
        report.sent = 5_872
        report.accepted = 5_871
        report.failed = 1
        report.retransmissions = .max / 2
        report.rttP50 = 412.5
        report.status = "waiting \"2 s\"\n"
        report.online = true
        #expect(parse(report.json.text) == report)
        #expect(parse(TransferReport().json.text) == TransferReport())
    }

    @Test(arguments: ["", "martlet: cannot read", "{}", "{\"event\":\"other\"}"])
    func `an invalid line → no report`(line: String) {
        #expect(parse(line) == nil)
    }
}
