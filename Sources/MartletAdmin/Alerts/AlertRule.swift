import MartletMetrics

/// A rule that raises an alert.
///
/// ```
/// store-slow: p99 martlet_relay_store_call_seconds{call=append} > 0.5 for 30s until 0.2
/// memory:     martlet_relay_memory_bytes / martlet_relay_memory_budget_bytes > 0.9 for 1m
/// refusals:   rate martlet_relay_peers_refused > 10 for 30s
/// disk:       martlet_relay_disk_free_bytes < 1e9
/// ```
///
/// The value is a number of the metrics, summed over the samples with the given label: as it is, as its increase in a
/// second (`rate`), or as a percentile of a histogram's durations (`p50`, `p90`, `p99`), in seconds, both since the
/// last sample. A slash divides one value by a different one. The alert is raised when the comparison has been true for
/// the duration, 0 without `for`, and ends when the value reaches the number after `until` from the other side, or no
/// longer fulfils the comparison without `until`. A value that does not exist, such as a percentile of no durations,
/// fulfils no comparison.
public struct AlertRule: Sendable, Equatable {
    /// The maximum number of bytes of a text of rules.
    public static let maxByteCount = 64 << 10
    /// The maximum number of rules.
    public static let maxCount = 256

    enum Function: String, Sendable, CaseIterable {
        case rate, p50, p90, p99

        /// The percentile as a share; nil for `rate`.
        var share: Double? {
            switch self {
            case .rate: nil
            case .p50: 0.5
            case .p90: 0.9
            case .p99: 0.99
            }
        }
    }

    struct Operand: Sendable, Equatable {
        var function: Function?
        var metric: String
        var label: Metric.Label?
    }

    /// The name, which the reports contain.
    public let name: String
    let numerator: Operand
    let denominator: Operand?
    let isAbove: Bool
    let threshold: Double
    /// The value at which the alert ends.
    let end: Double
    let duration: Duration

    /// Parses rules, one in each line. Empty lines and lines that begin with `#` are ignored.
    ///
    /// - Throws: `AlertRulesError` for the first invalid line.
    public static func parse(_ text: [UInt8]) throws(AlertRulesError) -> [AlertRule] {
        guard text.count <= maxByteCount else { throw AlertRulesError(line: 1, fault: .tooLarge) }
        var rules: [AlertRule] = []
        for (index, line) in text.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).enumerated() {
            let number = index + 1
            guard let line = String(validating: line, as: UTF8.self) else {
                throw AlertRulesError(line: number, fault: .invalidUTF8)
            }
            let words = line.split { $0 == " " || $0 == "\t" || $0 == "\r" }
            guard let first = words.first, !first.hasPrefix("#") else { continue }
            do throws(AlertRulesError.Fault) {
                let rule = try AlertRule(words)
                guard !rules.contains(where: { $0.name == rule.name }) else { throw .repeatedName(rule.name) }
                rules.append(rule)
            } catch {
                throw AlertRulesError(line: number, fault: error)
            }
            guard rules.count <= maxCount else { throw AlertRulesError(line: number, fault: .tooManyRules) }
        }
        return rules
    }

    private init(_ words: [Substring]) throws(AlertRulesError.Fault) {
        var rest = words[...]
        let first = rest.removeFirst()
        guard first.hasSuffix(":"), first.count > 1,
            first.dropLast().utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: ":") })
        else { throw .invalidName }
        name = String(first.dropLast())
        numerator = try Self.operand(&rest)
        if rest.first == "/" {
            rest.removeFirst()
            denominator = try Self.operand(&rest)
        } else {
            denominator = nil
        }
        switch rest.popFirst() {
        case ">": isAbove = true
        case "<": isAbove = false
        default: throw .invalidComparison
        }
        guard let threshold = rest.popFirst().flatMap({ Double($0) }), threshold.isFinite else {
            throw .invalidComparison
        }
        self.threshold = threshold
        var (duration, end) = (Duration.zero, threshold)
        if rest.first == "for" {
            rest.removeFirst()
            guard let given = rest.popFirst().flatMap(Self.duration) else { throw .invalidDuration }
            duration = given
        }
        if rest.first == "until" {
            rest.removeFirst()
            guard let given = rest.popFirst().flatMap({ Double($0) }), given.isFinite,
                isAbove ? given <= threshold : given >= threshold
            else { throw .invalidEnd }
            end = given
        }
        guard rest.isEmpty else { throw .unexpectedWord(String(rest[rest.startIndex])) }
        (self.duration, self.end) = (duration, end)
    }

    private static func operand(_ words: inout ArraySlice<Substring>) throws(AlertRulesError.Fault) -> Operand {
        let function = words.first.flatMap { Function(rawValue: String($0)) }
        if function != nil { words.removeFirst() }
        guard let word = words.popFirst() else { throw .invalidMetric }
        let parts = word.split(separator: "{", maxSplits: 1, omittingEmptySubsequences: false)
        guard !parts[0].isEmpty,
            parts[0].utf8.allSatisfy({ $0 == UInt8(ascii: "_") || ($0 | 0x20) >= 0x61 && ($0 | 0x20) <= 0x7A })
        else { throw .invalidMetric }
        guard parts.count == 2 else { return Operand(function: function, metric: String(parts[0]), label: nil) }
        let sides = parts[1].dropLast().split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts[1].hasSuffix("}"), sides.count == 2, !sides[0].isEmpty else { throw .invalidMetric }
        let label = Metric.Label(name: String(sides[0]), value: String(sides[1]))
        return Operand(function: function, metric: String(parts[0]), label: label)
    }

    /// A number of seconds, minutes or hours: 30s, 5m, 1h.
    private static func duration(_ word: Substring) -> Duration? {
        let units: [Character: Int64] = ["s": 1, "m": 60, "h": 3600]
        guard let unit = word.last.flatMap({ units[$0] }), let count = Int64(word.dropLast()),
            (0...86_400).contains(count)
        else { return nil }
        return .seconds(count * unit)
    }
}

/// The first invalid line of a text of alert rules.
public struct AlertRulesError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The fault of a line.
    public enum Fault: Error, Equatable, Sendable {
        /// The text has more than `AlertRule.maxByteCount` bytes.
        case tooLarge
        /// There are more than `AlertRule.maxCount` rules.
        case tooManyRules
        /// The line is not UTF-8.
        case invalidUTF8
        /// The line does not begin with a name and a colon.
        case invalidName
        /// An earlier line has the same name.
        case repeatedName(String)
        /// A value is not the name of a metric, behind `rate`, `p50`, `p90` or `p99`, with a label in braces.
        case invalidMetric
        /// The value is not followed by `>` or `<` and a number.
        case invalidComparison
        /// `for` is not followed by a number and `s`, `m` or `h`.
        case invalidDuration
        /// `until` is not followed by a number on the other side of the threshold.
        case invalidEnd
        /// A word follows the rule.
        case unexpectedWord(String)
    }

    /// The number of the line, from 1.
    public let line: Int
    /// The fault of the line.
    public let fault: Fault

    /// The line and its fault.
    public var description: String {
        let text =
            switch fault {
            case .tooLarge: "the rules have more than \(AlertRule.maxByteCount) bytes"
            case .tooManyRules: "there are more than \(AlertRule.maxCount) rules"
            case .invalidUTF8: "the line is not UTF-8"
            case .invalidName: "a rule begins with a name and a colon"
            case .repeatedName(let name): "there are two rules with the name \"\(name)\""
            case .invalidMetric: "a value is a metric, behind rate, p50, p90 or p99, with a label as in {call=append}"
            case .invalidComparison: "the value is followed by > or < and a number"
            case .invalidDuration: "\"for\" is followed by a duration, such as 30s, 5m or 1h"
            case .invalidEnd: "\"until\" is followed by a number that is not beyond the threshold"
            case .unexpectedWord(let word): "\"\(word)\" does not belong to the rule"
            }
        return "line \(line): \(text)"
    }
}
