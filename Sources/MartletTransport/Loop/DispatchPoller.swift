import CMartletSystem
import Dispatch

/// Dispatch sources on one serial queue; every call of a handler is a turn of the loop.
final class DispatchPoller: Poller, @unchecked Sendable {  // all state is touched on the queue only
    private let queue: DispatchQueue
    private weak var loop: EventLoop?
    private var slots = PollSlots<DispatchRegistration>()
    private var uncancelledSourceCount = 0
    private var timer: (any DispatchSourceTimer)?
    private var armedDeadline = UInt64.max

    init(name: String) {
        queue = DispatchQueue(label: name, qos: .userInitiated)
    }

    deinit {
        timer?.cancel()
    }

    func start(_ loop: EventLoop) {
        self.loop = loop
        wake()
    }

    func wake() {
        guard let loop else { return }
        queue.async { self.turn(of: loop) {} }
    }

    fileprivate func turn(_ body: () -> Void) {
        guard let loop else { return }
        turn(of: loop, body)
    }

    private func turn(of loop: EventLoop, _ body: () -> Void) {
        loop.becomeCurrent()
        loop.beginTurn()
        body()
        loop.finishTurn()
        if let waiters = loop.stopIfDone() {
            timer?.cancel()
            timer = nil
            loop.resignCurrent()
            for waiter in waiters { waiter.resume() }
            return
        }
        if loop.prepareToSleep() {
            arm(loop.nextDeadline)
        } else {
            wake()
        }
        loop.resignCurrent()
    }

    private func arm(_ deadline: UInt64) {
        guard deadline < armedDeadline else { return }
        armedDeadline = deadline
        let delay = Int(clamping: deadline - min(deadline, EventLoop.clock))
        existingTimer().schedule(deadline: .now() + .nanoseconds(delay), leeway: .nanoseconds(0))
    }

    private func existingTimer() -> any DispatchSourceTimer {
        if let timer { return timer }
        let made = DispatchSource.makeTimerSource(queue: queue)
        made.setEventHandler { [weak self] in
            self?.turn { self?.armedDeadline = .max }
        }
        made.activate()
        timer = made
        return made
    }

    func add(
        _ source: any PollSource, _ descriptor: SharedDescriptor, interest: Readiness
    ) throws(TransportError) -> PollKey {
        let key = slots.insert { _ in
            DispatchRegistration(source: source, descriptor: descriptor, poller: self, queue: queue)
        }
        slots[key]?.setInterest(interest)
        return key
    }

    func setInterest(_ interest: Readiness, of key: PollKey) {
        slots[key]?.setInterest(interest)
    }

    func remove(_ key: PollKey) {
        slots.remove(key)?.cancel()
    }

    fileprivate func sourceMade() {
        uncancelledSourceCount += 1
    }

    fileprivate func sourceCancelled() {
        uncancelledSourceCount -= 1
    }

    var sources: [any PollSource] { slots.elements.compactMap(\.source) }

    var isIdle: Bool { slots.count == 0 && uncancelledSourceCount == 0 }
}

/// The sources on one descriptor, made when they are first needed. A source holds the descriptor until its cancellation
/// is through, since a descriptor must not be closed before.
///
/// Two things about Dispatch on Linux: a reading source that is made while a writing one waits is never called, so the
/// reading one is made first (swift-corelibs-libdispatch issue 833 is of that kind); and a source is called once at
/// most after a hangup, and not at all when a call was due anyway (pull request 477). So after every call the
/// descriptor is asked whether it hung up, and then the source is told again until it has removed itself.
private final class DispatchRegistration: @unchecked Sendable {  // all state is touched on the poller's queue only
    private(set) var source: (any PollSource)?
    private let descriptor: SharedDescriptor
    private let poller: DispatchPoller
    private let queue: DispatchQueue
    private var interest: Readiness = []
    private var isTellingHangup = false
    private var reader: (any DispatchSourceProtocol)?
    private var writer: (any DispatchSourceProtocol)?

    init(source: any PollSource, descriptor: SharedDescriptor, poller: DispatchPoller, queue: DispatchQueue) {
        self.source = source
        self.descriptor = descriptor
        self.poller = poller
        self.queue = queue
    }

    func setInterest(_ new: Readiness) {
        defer { tellHangup() }
        let changed = interest.symmetricDifference(new)
        interest = new
        if changed.contains(.readable) {
            run(&reader, new.contains(.readable), .readable) {
                DispatchSource.makeReadSource(fileDescriptor: descriptor.number, queue: queue)
            }
        }
        if changed.contains(.writable) {
            run(&writer, new.contains(.writable), .writable) {
                DispatchSource.makeWriteSource(fileDescriptor: descriptor.number, queue: queue)
            }
        }
    }

    private func run(
        _ slot: inout (any DispatchSourceProtocol)?, _ isWanted: Bool, _ readiness: Readiness,
        make: () -> any DispatchSourceProtocol
    ) {
        if let existing = slot { return isWanted ? existing.resume() : existing.suspend() }
        let made = make()
        poller.sourceMade()
        made.setEventHandler { [weak self, poller] in
            poller.turn { self?.fire(readiness) }
        }
        made.setCancelHandler { [descriptor, poller] in
            poller.turn { poller.sourceCancelled() }
            withExtendedLifetime(descriptor) {}
        }
        made.resume()
        slot = made
    }

    private func fire(_ readiness: Readiness) {
        // A call may be on its way when the interest ends.
        guard interest.contains(readiness) else { return }
        source?.pollReady(readiness)
        tellHangup()
    }

    private func tellHangup() {
        #if os(Linux)
            guard source != nil, !interest.isEmpty, !isTellingHangup, martlet_socket_hung_up(descriptor.number) != 0
            else {
                return
            }
            isTellingHangup = true
            queue.async { [poller] in
                poller.turn {
                    self.isTellingHangup = false
                    for readiness in [.readable, .writable] as [Readiness] { self.fire(readiness) }
                }
            }
        #endif
    }

    func cancel() {
        source = nil
        cancel(reader, isRunning: interest.contains(.readable))
        cancel(writer, isRunning: interest.contains(.writable))
        interest = []
        reader = nil
        writer = nil
    }

    private func cancel(_ source: (any DispatchSourceProtocol)?, isRunning: Bool) {
        guard let source else { return }
        source.cancel()
        // A suspended source would never run its cancellation.
        if !isRunning { source.resume() }
    }
}
