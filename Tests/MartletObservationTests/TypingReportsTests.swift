import Testing

@testable import MartletObservation

@Suite("Reports of typing")
struct TypingReportsTests {
    @Test func `typing → a report at once and every 4 s; the end → a report if there was one`() {
        var reports = TypingReports()
        var ends = [reports.ended()]
        let typed = stride(from: 0, through: 10, by: 0.5).filter { reports.typed(now: .seconds($0)) }
        ends += [reports.ended(), reports.ended()]
        #expect(typed == [0, 4, 8] && ends == [false, true, false])
        let again = reports.typed(now: .seconds(10))
        #expect(again)
    }
}
