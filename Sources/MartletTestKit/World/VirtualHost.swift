import MartletLink
import MartletTransport
import MartletWire

/// A machine of a virtual world: the host of the loops of one client or relay. The hosts of a world share its scheduler
/// and its network.
///
/// `@unchecked Sendable`: its state is used by the thread that runs the world.
final class VirtualHost: LoopHost, @unchecked Sendable {
    /// The difference of the wall clock to the time of the world, in milliseconds.
    static let wallClockOffset: UInt64 = 1_700_000_000_000

    let scheduler: VirtualScheduler
    let network: VirtualNetwork
    /// The path to the relays; nil for a relay.
    let path: VirtualPath?
    private let epoch: ContinuousClock.Instant
    private let generator: Guarded<SeededRandom>

    init(_ network: VirtualNetwork, path: VirtualPath?, seed: UInt64) {
        scheduler = network.scheduler
        self.network = network
        self.path = path
        epoch = network.epoch
        generator = Guarded(SeededRandom(seed: seed))
    }

    var now: UInt64 { scheduler.now.nanoseconds }

    var wallClock: UInt64 { now / 1_000_000 + Self.wallClockOffset }

    var instant: ContinuousClock.Instant { epoch + .nanoseconds(Int64(now)) }

    var taskExecutor: any TaskExecutor { scheduler }

    func nextRandom() -> UInt64 { generator.withLock { $0.next() } }

    func wake(_ loop: EventLoop) {
        scheduler.wake(loop)
    }

    func connect(
        to endpoints: [Endpoint], on loop: EventLoop, timeout: Duration, _ completion: @escaping ConnectCompletion
    ) -> any ConnectionAttempt {
        let attempt = VirtualAttempt(from: self, to: endpoints, on: loop, completion)
        attempt.start(timeout: timeout)
        return attempt
    }

    func listen(on address: SocketAddress) throws(TransportError) -> any ListeningSocket {
        try network.listen(on: address, of: self)
    }

    func watchPath(of loop: EventLoop, _ report: @escaping (PathSnapshot) -> Void) -> any PathSource {
        let source = VirtualPathSource(loop, report)
        path?.add(source)
        return source
    }
}
