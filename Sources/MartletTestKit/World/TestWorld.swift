public import Martlet
package import MartletLink
public import MartletRelay
package import MartletTransport
import MartletWire

/// A virtual network in which real clients and relays run, on one thread and in virtual time.
///
/// ```swift
/// let world = TestWorld(seed: 1)
/// try world.run {
///     try world.startRelay()
///     let alice = try await world.device("alice").start()
///     let room = try await alice.open(room: "lobby")
///     try await room.send("hello")
/// }
/// ```
///
/// The same seed and the same calls give the same run: the order of all tasks, the random numbers of clients and relays
/// and the delays of the network are determined. While all tasks wait, the time advances to the next event, so an hour
/// of virtual time takes milliseconds.
///
/// Code in a world must not wait for anything outside: a real clock, the main actor, or another thread. Tasks of a
/// task group and of `async let` stay in the world; use ``startTask(_:)`` instead of `Task`, ``sleep(for:)`` or
/// ``clock`` instead of `Task.sleep`, and ``withTimeStopped(_:)`` for work on other threads.
///
/// A world, its devices and its relays are used by the code in ``run(timeLimit:_:)``, or before it.
public final class TestWorld: @unchecked Sendable {  // used by the thread that runs the world
    /// The seed.
    public let seed: UInt64
    private let scheduler = VirtualScheduler()
    let network: VirtualNetwork
    private var devices: [TestDevice] = []
    private var relays: [TestRelay] = []
    private var tasks: [Task<Void, Never>] = []
    private var isRunning = false
    private var seeds: SeededRandom

    /// Creates a world without devices and relays.
    public init(seed: UInt64 = 1) {
        self.seed = seed
        seeds = SeededRandom(seed: seed)
        network = VirtualNetwork(scheduler, seed: seeds.next())
    }

    /// The executor of the tasks of the world.
    package var executor: any TaskExecutor { scheduler }
    /// The number of connections so far.
    package var connectionCount: Int { network.connectionCount }

    // MARK: - Time

    package var now: Instant { scheduler.now }

    /// The clock of the world.
    public var clock: VirtualClock { VirtualClock(scheduler: scheduler) }

    /// The virtual time since the creation of the world.
    public var time: Duration { scheduler.now - Instant(nanoseconds: 1_000_000_000) }

    /// The wall clock of all machines, in milliseconds since 1970.
    public var wallClock: UInt64 { scheduler.now.nanoseconds / 1_000_000 + VirtualHost.wallClockOffset }

    /// Suspends the task for a virtual duration.
    ///
    /// - Throws: `CancellationError`.
    public func sleep(for duration: Duration) async throws {
        try await clock.sleep(for: duration)
    }

    // MARK: - Running

    /// Runs `body` in the world, on the calling thread, until it ends. Then all devices and relays are killed, and the
    /// tasks of ``startTask(_:)`` are cancelled.
    ///
    /// - Parameters:
    ///   - timeLimit: The maximum virtual duration.
    ///   - body: A closure that uses the world.
    /// - Returns: The result of `body`.
    /// - Throws: The errors of `body`. ``TestWorldError`` if `body` waits and nothing can end that, if it does not end
    ///   within `timeLimit`, or if it makes no progress; it is then cancelled. `CancellationError` if the calling task
    ///   is cancelled.
    public func run<Result: Sendable>(
        timeLimit: Duration = .seconds(86_400), _ body: @escaping @Sendable () async throws -> Result
    ) throws -> Result {
        precondition(!isRunning, "a world runs one closure at a time")
        isRunning = true
        defer { isRunning = false }
        let outcome = Outcome<Result>()
        let main = Task(executorPreference: scheduler) { await outcome.take(body) }
        let end = scheduler.run(until: scheduler.now + timeLimit) {
            outcome.result != nil || Task.isCancelled
        }
        let time = time
        if end != .finished || Task.isCancelled { main.cancel() }
        endAll()
        switch end {
        case .finished: break
        case .deadlock: throw TestWorldError.deadlock(at: time)
        case .timeLimit: throw TestWorldError.timeLimitExceeded(timeLimit)
        case .noProgress: throw TestWorldError.noProgress(at: time)
        }
        guard let result = outcome.result else { throw CancellationError() }
        return try result.get()
    }

    /// The result of the closure of `run`.
    private final class Outcome<Value: Sendable>: Sendable {
        private let state = Guarded<Swift.Result<Value, any Error>?>(nil)

        var result: Swift.Result<Value, any Error>? { state.withLock { $0 } }

        func take(_ body: @Sendable () async throws -> Value) async {
            do {
                let value = try await body()
                state.withLock { $0 = .success(value) }
            } catch {
                state.withLock { $0 = .failure(error) }
            }
        }
    }

    /// Kills all devices and relays, and runs until nothing is ready.
    private func endAll() {
        for task in tasks { task.cancel() }
        let endings =
            devices.map { device in startTask { await device.kill() } }
            + relays.map { relay in startTask { await relay.kill() } }
        let outcome = Outcome<Void>()
        startTask { await outcome.take { for ending in endings { await ending.value } } }
        _ = scheduler.run(until: scheduler.now + .seconds(60)) { outcome.result != nil }
        _ = scheduler.run(until: scheduler.now) { false }
        (devices, relays, tasks) = ([], [], [])
    }

    /// Starts a task in the world. It is cancelled when ``run(timeLimit:_:)`` ends.
    @discardableResult
    public func startTask(_ work: @escaping @Sendable () async -> Void) -> Task<Void, Never> {
        let task = Task(executorPreference: scheduler) { await work() }
        tasks.append(task)
        return task
    }

    /// Calls `body`, which waits for work on other threads, while the time of the world stands still.
    public func withTimeStopped<Result, Failure: Error>(
        _ body: () async throws(Failure) -> Result
    ) async throws(Failure) -> Result {
        scheduler.beginOutside()
        defer { scheduler.endOutside() }
        return try await body()
    }

    // MARK: - Machines

    /// Creates a device of an account, whose client connects to the relay at `relayAddress`.
    ///
    /// - Parameters:
    ///   - account: The account.
    ///   - relay: The address of the relay, as ``TestRelay/address``.
    ///   - outbox: The outbox of the device's clients, which survives ``TestDevice/kill()``; a new one in memory by
    ///     default.
    ///   - conditions: The path to the relay.
    ///   - gateway: The number of the translator of addresses behind which the device is; the relay sees one address
    ///     for all devices behind it. Nil for an address of its own.
    public func device(
        _ account: String, relay: String = TestRelay.defaultAddress, outbox: (any Outbox)? = nil,
        conditions: PathConditions = PathConditions(), gateway: UInt8? = nil
    ) -> TestDevice {
        let number = devices.count + 1
        let address = IPAddress(v4: gateway.map { 0x0A00_0100 + UInt32($0) } ?? 0x0A01_0000 + UInt32(number))
        let path = VirtualPath(network, conditions, address: address)
        let device = TestDevice(
            account, relay: relay,
            outbox: outbox ?? InMemoryOutbox(device: DeviceID(rawValue: seeds.next() | 1)), number: number,
            host: VirtualHost(network, path: path, seed: seeds.next()), path: path)
        devices.append(device)
        return device
    }

    /// Starts a relay.
    ///
    /// - Parameters:
    ///   - address: The IP address and port.
    ///   - store: The store, which survives ``TestRelay/kill()``; a new one in memory by default.
    ///   - authenticator: Determines the identities of clients.
    ///   - policy: Decides who may enter which room.
    ///   - requestHandler: Responds to requests.
    ///   - configure: Changes the configuration.
    /// - Throws: The errors of `Relay.start()`.
    @discardableResult
    public func startRelay(
        at address: String = TestRelay.defaultAddress, store: (any RoomStore)? = nil,
        authenticator: any Authenticator = .allowAll, policy: any RoomPolicy = .allowAll,
        requestHandler: (any RequestHandler)? = nil, _ configure: (inout Relay.Configuration) -> Void = { _ in }
    ) throws -> TestRelay {
        let host = VirtualHost(network, path: nil, seed: seeds.next())
        let endpoint = try Endpoint(parsing: address, defaultSecurity: .plain)
        var configuration = try Relay.Configuration(address: endpoint.host, port: endpoint.port)
        configuration.allowsPlaintext = true
        configure(&configuration)
        configuration.host = host
        let relay = TestRelay(
            address: "\(endpoint)", host: host,
            parts: TestRelay.Parts(
                configuration: configuration, store: store ?? InMemoryStore(firstLog: seeds.next()),
                authenticator: authenticator, policy: policy, requestHandler: requestHandler))
        try relay.restart()
        relays.append(relay)
        return relay
    }

    /// Returns a loop on a machine of its own, for servers without a `Relay`.
    package func makeServerLoop() -> EventLoop {
        EventLoop(on: VirtualHost(network, path: nil, seed: seeds.next()), name: "server")
    }

    /// A random number that the seed determines.
    public func nextRandom() -> UInt64 { seeds.next() }
}

/// The reason why a closure in a world did not end.
public enum TestWorldError: Error, Equatable {
    /// At this time the closure waited, and no task, event or timer was left that could end the wait. The closure may
    /// wait for something outside of the world; see ``TestWorld``.
    case deadlock(at: Duration)
    /// The closure did not end within the limit of virtual time.
    case timeLimitExceeded(Duration)
    /// At this time, a million steps took no virtual time.
    case noProgress(at: Duration)
}
