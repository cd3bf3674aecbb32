public import Martlet
public import Observation

/// The connection of a client, for a view.
///
/// ```swift
/// struct ConnectionBar: View {
///     let connection: ConnectionModel
///
///     var body: some View {
///         Group {
///             if !connection.isOnline { Button("Connect now") { connection.retryNow() } }
///         }
///         .task { await connection.run() }
///     }
/// }
/// ```
///
/// On iOS, report the scene's phase:
///
/// | event | call | effect |
/// |---|---|---|
/// | the scene becomes active | ``enterForeground()`` | a ping tests the connection, or an attempt begins at once |
/// | the scene enters the background | ``enterBackground()`` | fewer pings, until the system suspends the process |
/// | background, while `OutboxModel.pendingCount` is not 0 | a background task of the system | messages are still sent |
/// | the system suspends or ends the process | none | outbox and timeline are consistent at any instant |
/// | a push notification wakes the process | start the client, `TimelineSync.open`, `run` until the room is read | the timeline has the message before the user opens it |
///
/// Place outbox and timeline in a folder of the application's own container with the data protection class
/// `completeUntilFirstUserAuthentication`: with `complete`, a process that a notification wakes cannot read them while
/// the device is locked. In the container of an app group, the system ends a suspended process that holds the lock of a
/// file.
@MainActor @Observable
public final class ConnectionModel {
    /// The current status of the client.
    public private(set) var status: Client.Status
    /// Whether the link is established.
    public private(set) var isOnline: Bool
    /// The time of the next connection attempt; nil if the client does not wait for one.
    public private(set) var nextAttempt: ContinuousClock.Instant?
    /// The reason why the client has stopped retrying; nil if it has not.
    public private(set) var stopReason: StopReason?

    @ObservationIgnored private let client: Client
    @ObservationIgnored private let gate: UpdateGate

    /// Creates a model of a client.
    public convenience init(_ client: Client) {
        self.init(client, clock: ContinuousModelClock())
    }

    package init(_ client: Client, clock: any ModelClock) {
        self.client = client
        gate = UpdateGate(clock)
        let status = client.currentStatus
        self.status = status
        isOnline = status.isOnline
        nextAttempt = status.nextAttempt
        stopReason = status.stopReason
    }

    /// Publishes each change until the task is cancelled or the client has stopped.
    public func run() async {
        for await _ in client.status {
            await gate.update { publish(client.currentStatus) }
        }
        publish(client.currentStatus)
    }

    private func publish(_ new: Client.Status) {
        if new != status { status = new }
        if new.isOnline != isOnline { isOnline = new.isOnline }
        if new.nextAttempt != nextAttempt { nextAttempt = new.nextAttempt }
        if new.stopReason != stopReason { stopReason = new.stopReason }
    }

    /// Starts a connection attempt immediately if the client waits for its next attempt or has stopped retrying.
    public func retryNow() {
        client.retryNow()
    }

    /// Reports that the application is visible (`Client.enterForeground()`).
    public func enterForeground() {
        client.enterForeground()
    }

    /// Reports that the application is in the background (`Client.enterBackground()`).
    public func enterBackground() {
        client.enterBackground()
    }
}

extension Client.Status {
    fileprivate var stopReason: StopReason? {
        if case .stopped(let reason) = phase { reason } else { nil }
    }
}
