import MartletToolSupport
import Testing

@testable import MartletLab

@Suite struct WeakLinkReportTests {
    @Test func `a report is formatted as text and JSON`() {
        var report = WeakLinkReport()
        report.connectionCount = 1
        report.upByteCount = 2048
        report.cutCount = 12
        #expect(report.text == "1 connection, 2.00 KiB up, 0 B down, 12 cut, 0 bytes corrupted, 0 B lost in flight")
        #expect(report.json["cuts"] == .integer(12))
        #expect(report.json["bytesUp"] == .integer(2048))
    }
}
