import MartletMetrics
import Testing

@testable import MartletAdmin

@Suite struct AlertRuleTests {
    private static func fault(_ text: String) -> AlertRulesError.Fault? {
        do {
            _ = try AlertRule.parse(Array(text.utf8))
            return nil
        } catch { return error.fault }
    }

    @Test func `a rule with all its parts → each of them`() throws {
        let text = "# comment\n\n store:\tp99 a_seconds{call=append} / rate b > -1.5e3 for 5m until -2000 \r\n"
        let rule = try #require(try AlertRule.parse(Array(text.utf8)).first)
        #expect(rule.name == "store")
        #expect(
            rule.numerator
                == .init(function: .p99, metric: "a_seconds", label: .init(name: "call", value: "append")))
        #expect(rule.denominator == .init(function: .rate, metric: "b", label: nil))
        #expect(rule.isAbove)
        #expect((rule.threshold, rule.end, rule.duration) == (-1500, -2000, .seconds(300)))
    }

    @Test(
        arguments: [
            ("a > 1", .invalidName), (": a > 1", .invalidName), ("x:y: a > 1", .invalidName), ("x:", .invalidMetric),
            ("x: rate", .invalidMetric), ("x: a{b} > 1", .invalidMetric), ("x: a{b=c > 1", .invalidMetric),
            ("x: {b=c} > 1", .invalidMetric), ("x: a-b > 1", .invalidMetric), ("x: a", .invalidComparison),
            ("x: a / > 1", .invalidMetric), ("x: a >= 1", .invalidComparison), ("x: a > one", .invalidComparison),
            ("x: a > nan", .invalidComparison), ("x: a > inf", .invalidComparison),
            ("x: a > 1 for 5", .invalidDuration),
            ("x: a > 1 for -5s", .invalidDuration), ("x: a > 1 for", .invalidDuration), ("x: a > 1 until", .invalidEnd),
            ("x: a > 1 until 2", .invalidEnd), ("x: a < 1 until 0", .invalidEnd), ("x: a > 1 until nan", .invalidEnd),
            ("x: a > 1 until -inf", .invalidEnd),
            ("x: a > 1 often", .unexpectedWord("often")), ("x: a > 1\nx: b > 1", .repeatedName("x")),
        ] as [(String, AlertRulesError.Fault)])
    func `an invalid line → its fault`(_ text: String, _ fault: AlertRulesError.Fault) {
        #expect(Self.fault(text) == fault)
    }

    @Test func `texts beyond the bounds → refused with the line`() {
        #expect(Self.fault(String(repeating: "#", count: AlertRule.maxByteCount)) == nil)
        #expect(Self.fault(String(repeating: "#", count: AlertRule.maxByteCount + 1)) == .tooLarge)
        let lines = (0...AlertRule.maxCount).map { "x\($0): a > 1" }.joined(separator: "\n")
        #expect(throws: AlertRulesError(line: AlertRule.maxCount + 1, fault: .tooManyRules)) {
            try AlertRule.parse(Array(lines.utf8))
        }
        #expect(throws: AlertRulesError(line: 2, fault: .invalidUTF8)) {
            try AlertRule.parse(Array("x: a > 1\n".utf8) + [0xFF])
        }
    }

    @Test func `durations in each unit, and an end at the threshold → accepted`() throws {
        let text = "a: x > 1 for 7s until 1\nb: x < 1 for 2m until 1\nc: x > 1 for 3h\nd: x > 1 for 86400h"
        let rules = try AlertRule.parse(Array(text.utf8))
        #expect(rules.map(\.duration) == [.seconds(7), .seconds(120), .seconds(10_800), .seconds(311_040_000)])
        #expect(rules.map(\.end) == [1, 1, 1, 1])
        #expect(Self.fault("x: a > 1 for 86401s") == .invalidDuration)
    }

    @Test func `a metric of letters and underscores → accepted, others → invalidMetric`() {
        #expect(Self.fault("x: azAZ_ > 1") == nil)
        for name in ["a`", "a@", "a[", "a1", "a{"] { #expect(Self.fault("x: \(name) > 1") == .invalidMetric) }
    }
}
