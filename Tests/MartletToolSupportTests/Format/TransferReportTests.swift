import Testing

@testable import MartletToolSupport

@Suite struct TransferReportTests {
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
        #expect(TransferReport.parse(report.json.text) == report)
        #expect(TransferReport.parse(TransferReport().json.text) == TransferReport())
    }

    @Test(arguments: ["", "martlet: cannot read", "{}", "{\"event\":\"other\"}"])
    func `an invalid line → no report`(line: String) {
        #expect(TransferReport.parse(line) == nil)
    }
}
