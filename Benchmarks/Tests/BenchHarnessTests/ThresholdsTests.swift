import BenchHarness
import Foundation
import Testing

@Suite("Thresholds")
struct ThresholdsTests {
    private static let run = RunResult(
        [
            "frames": ["martlet": ["ns": [11, 12, 13]], "C loop": ["ns": [10, 10, 10]]],
            "broken": ["C loop": ["ns": [10]]],
        ])

    private func verdict(_ bar: String) throws -> Verdict? {
        let json = Data(#"{"thresholds": [\#(bar)]}"#.utf8)
        return try JSONDecoder().decode(Thresholds.self, from: json).verdicts(on: Self.run).first
    }

    @Test func `ratio at its threshold is met, above it missed`() throws {
        let met = try verdict(#"{"what": "frames", "metric": "ns", "to": "C loop", "atMost": 1.2}"#)
        #expect(met?.isMet == true && met?.value == 1.2)
        let missed = try verdict(#"{"what": "frames", "metric": "ns", "to": "C loop", "atMost": 1.1}"#)
        #expect(missed?.isMet == false)
    }

    @Test func `difference at its threshold is met, above it missed`() throws {
        let met = try verdict(#"{"what": "frames", "metric": "ns", "above": "C loop", "atMost": 2}"#)
        #expect(met?.isMet == true && met?.value == 2 && met?.range == 1...3)
        let missed = try verdict(#"{"what": "frames", "metric": "ns", "above": "C loop", "atMost": 1.9}"#)
        #expect(missed?.isMet == false)
        let failed = try verdict(#"{"what": "frames", "metric": "ns", "above": "D loop", "atMost": 1}"#)
        #expect(failed?.isMet == false && failed?.value == nil)
    }

    @Test func `value below its minimum is missed`() throws {
        #expect(try verdict(#"{"what": "frames", "metric": "ns", "atLeast": 13}"#)?.isMet == false)
        #expect(try verdict(#"{"what": "frames", "metric": "ns", "atLeast": 12}"#)?.isMet == true)
    }

    @Test func `failed subject misses its threshold`() throws {
        let failed = try verdict(#"{"what": "broken", "metric": "ns", "atMost": 100}"#)
        #expect(failed?.isMet == false && failed?.value == nil)
    }

    @Test func `case that did not run has no verdict`() throws {
        #expect(try verdict(#"{"what": "message", "metric": "ns", "atMost": 1}"#) == nil)
        #expect(try verdict(#"{"what": "frames", "metric": "instructions", "atMost": 1}"#) == nil)
    }
}

extension RunResult {
    /// Samples by case, subject and metric.
    fileprivate init(_ samples: [String: [String: [String: [Double]]]]) {
        self.init()
        cases = samples.map { name, subjects in
            let series = subjects.flatMap { subject, metrics in
                metrics.map { Series(subject: subject, metric: $0.key, samples: $0.value) }
            }
            return CaseResult(name: name, per: "frame", series: series)
        }
    }
}
