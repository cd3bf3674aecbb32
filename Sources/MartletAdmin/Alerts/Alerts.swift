import MartletLink
import MartletMetrics

/// A change of an alert.
public struct AlertChange: Sendable, Equatable {
    /// The name of the rule.
    public let name: String
    /// Whether the alert is raised; false when it ends.
    public let isRaised: Bool
    /// The value that caused the change; nil if it does not exist.
    public let value: Double?

    package init(name: String, isRaised: Bool, value: Double?) {
        (self.name, self.isRaised, self.value) = (name, isRaised, value)
    }
}

/// The states of all rules.
///
/// | state of a rule | left by a sample |
/// |---|---|
/// | quiet | that fulfils the comparison: pending; raised without a duration |
/// | pending, since an instant | that does not: quiet; that does, after the duration: raised |
/// | raised | that has reached the end, or has no value: quiet |
struct Alerts: Sendable {
    private enum State: Sendable {
        case quiet
        case pending(since: Instant)
        case raised
    }

    private var rules: [(rule: AlertRule, state: State)] = []
    private var last: (metrics: MetricsSnapshot, at: Instant)?

    init(_ rules: [AlertRule]) { self.rules = rules.map { ($0, .quiet) } }

    /// The names of the raised alerts, in the order of the rules.
    var raised: [String] { rules.compactMap { if case .raised = $0.state { $0.rule.name } else { nil } } }

    /// Replaces the rules. Rules with a name and a text as before keep their state; other raised alerts end.
    mutating func replace(by rules: [AlertRule]) -> [AlertChange] {
        let earlier = self.rules
        self.rules = rules.map { rule in (rule, earlier.first { $0.rule == rule }?.state ?? .quiet) }
        let kept = Set(raised)
        return earlier.compactMap { entry in
            guard case .raised = entry.state, !kept.contains(entry.rule.name) else { return nil }
            return AlertChange(name: entry.rule.name, isRaised: false, value: nil)
        }
    }

    /// Evaluates the rules. Returns the alerts that are raised now, and those that end.
    mutating func sample(_ metrics: MetricsSnapshot, now: Instant) -> [AlertChange] {
        var changes: [AlertChange] = []
        for index in rules.indices {
            let rule = rules[index].rule
            let value = rule.value(in: metrics, after: last?.metrics, seconds: last.map { (now - $0.at).inSeconds })
            let isFulfilled = value.map { rule.isAbove ? $0 > rule.threshold : $0 < rule.threshold } ?? false
            switch rules[index].state {
            case .quiet where isFulfilled && rule.duration == .zero,
                .pending where isFulfilled && hasLasted(index, now):
                rules[index].state = .raised
                changes.append(AlertChange(name: rule.name, isRaised: true, value: value))
            case .quiet where isFulfilled: rules[index].state = .pending(since: now)
            case .pending where !isFulfilled: rules[index].state = .quiet
            case .raised where !isFulfilled && rule.isOver(value):
                rules[index].state = .quiet
                changes.append(AlertChange(name: rule.name, isRaised: false, value: value))
            case .quiet, .pending, .raised: break
            }
        }
        last = (metrics, now)
        return changes
    }

    private func hasLasted(_ index: Int, _ now: Instant) -> Bool {
        guard case .pending(let since) = rules[index].state else { return false }
        return now - since >= rules[index].rule.duration
    }
}

extension AlertRule {
    /// Whether a value ends the alert.
    fileprivate func isOver(_ value: Double?) -> Bool {
        guard let value else { return true }
        return isAbove ? value <= end : value >= end
    }

    fileprivate func value(in metrics: MetricsSnapshot, after last: MetricsSnapshot?, seconds: Double?) -> Double? {
        guard let value = numerator.value(in: metrics, after: last, seconds: seconds) else { return nil }
        guard let denominator else { return value }
        guard let divisor = denominator.value(in: metrics, after: last, seconds: seconds), divisor != 0 else {
            return nil
        }
        return value / divisor
    }
}

extension AlertRule.Operand {
    fileprivate func value(in metrics: MetricsSnapshot, after last: MetricsSnapshot?, seconds: Double?) -> Double? {
        switch function {
        case nil: return number(in: metrics)
        case .rate:
            guard let last, let seconds, seconds > 0, let now = number(in: metrics) else { return nil }
            let before = number(in: last) ?? 0
            // A counter below its earlier value belongs to a relay that was started again.
            return now < before ? nil : (now - before) / seconds
        case .p50?, .p90?, .p99?:
            guard let share = function?.share, let now = histogram(in: metrics) else { return nil }
            return now.subtracting(last.flatMap(histogram) ?? Histogram()).quantile(share)?.inSeconds
        }
    }

    private func samples(in metrics: MetricsSnapshot) -> [Metric.Sample]? {
        metrics.metrics.first { $0.name == metric }?.samples.filter { label == nil || $0.labels.contains(label!) }
    }

    /// The sum of the samples; nil if the snapshot has no such metric.
    private func number(in metrics: MetricsSnapshot) -> Double? {
        samples(in: metrics)?.reduce(0.0) { sum, sample in
            if case .number(let number) = sample.value { sum + number } else { sum }
        }
    }

    private func histogram(in metrics: MetricsSnapshot) -> Histogram? {
        samples(in: metrics)?.reduce(into: Histogram()) { sum, sample in
            if case .histogram(let histogram) = sample.value { sum += histogram }
        }
    }
}
