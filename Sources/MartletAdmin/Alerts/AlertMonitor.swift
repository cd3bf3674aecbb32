import MartletLink
import MartletMetrics
public import MartletRelay
import MartletTransport

/// Evaluates alert rules about a relay every two seconds.
///
/// The monitor runs until it is stopped or released. It does not keep the relay alive.
public final class AlertMonitor: Sendable {
    /// The interval of evaluations.
    public static let interval = Duration.seconds(2)

    private let alerts: Guarded<Alerts>
    private let source: any AdminSource
    private let onChange: @Sendable (AlertChange) -> Void
    private let task = Guarded<Task<Void, Never>?>(nil)

    /// Creates a monitor and starts it.
    ///
    /// - Parameters:
    ///   - relay: The relay whose metrics the rules use.
    ///   - rules: The rules.
    ///   - onChange: Receives the changes, on the thread of a task of the monitor, or of a call of
    ///     ``replaceRules(by:)``. It must not block.
    public convenience init(
        _ relay: Relay, rules: [AlertRule], onChange: @escaping @Sendable (AlertChange) -> Void
    ) {
        self.init(RelaySource(relay), rules: rules, onChange: onChange)
    }

    init(_ source: any AdminSource, rules: [AlertRule], onChange: @escaping @Sendable (AlertChange) -> Void) {
        alerts = Guarded(Alerts(rules))
        self.source = source
        self.onChange = onChange
        let task = Task { [weak self] in
            while !Task.isCancelled {
                await self?.evaluate(now: Instant(nanoseconds: EventLoop.clock))
                do { try await Task.sleep(for: Self.interval) } catch { return }
            }
        }
        self.task.withLock { $0 = task }
    }

    deinit { stop() }

    /// The names of the raised alerts, in the order of the rules.
    public var raised: [String] { alerts.withLock { $0.raised } }

    /// Replaces the rules. Equal rules keep their state; other raised alerts end.
    public func replaceRules(by rules: [AlertRule]) {
        for change in alerts.withLock({ $0.replace(by: rules) }) { onChange(change) }
    }

    /// Stops the evaluations.
    public func stop() { task.withLock { $0.take() }?.cancel() }

    func evaluate(now: Instant) async {
        let metrics = await source.metrics
        for change in alerts.withLock({ $0.sample(metrics, now: now) }) { onChange(change) }
    }
}
