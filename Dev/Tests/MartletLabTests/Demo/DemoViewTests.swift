import MartletToolSupport
import Testing

@testable import MartletLab

@Suite struct DemoViewTests {
    private var view: DemoView {
        var view = DemoView(messageCount: 1_000)
        view.sender.accepted = 500
        view.sender.sent = 1_000
        view.sender.online = true
        view.sender.rttP50 = 401.7
        view.listener.received = 250
        view.listener.status = "waiting 1 s"
        view.link.cutCount = 12
        view.elapsed = .seconds(9)
        return view
    }

    @Test func `reports are shown as live lines`() {
        #expect(
            view.lines(columns: 80).map(\.text) == [
                "  sender    ████████████░░░░░░░░░░░░ 500 accepted  online",
                "  link      12 cuts  0 B up  0 B down",
                "  listener  ██████░░░░░░░░░░░░░░░░░░ 250 received  waiting 1 s",
                "  0:09",
            ])
        for line in view.lines(columns: 30) { #expect(line.width <= 30) }
    }

    @Test func `the table contains the measured values`() {
        let comparison = DemoComparison(sent: Array("a\nb\n".utf8), received: Array("a\na\n".utf8))
        let table = view.table(comparison, lineCount: 2)
        #expect(table.contains("\n  duplicates        1\n  losses            1\n"))
        #expect(table.contains("p50 402 ms, p99 unknown"))
        #expect(view.json(comparison, lineCount: 2)["identical"] == .bool(false))
        #expect(view.json(comparison, lineCount: 2)["cuts"] == .integer(12))
    }
}
