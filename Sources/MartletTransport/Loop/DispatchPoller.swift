import CMartletSystem
import Dispatch

/// A poller with Dispatch sources on one serial queue. Each event handler is a turn of the loop.
final class DispatchPoller: Poller, @unchecked Sendable {  // All state is accessed on the queue only.
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
        let new = DispatchSource.makeTimerSource(queue: queue)
        new.setEventHandler { [weak self] in
            self?.turn { self?.armedDeadline = .max }
        }
        new.activate()
        timer = new
        return new
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

    fileprivate func sourceCreated() {
        uncancelledSourceCount += 1
    }

    fileprivate func sourceCancelled() {
        uncancelledSourceCount -= 1
    }

    var sources: [any PollSource] { slots.elements.compactMap(\.source) }

    var isIdle: Bool { slots.count == 0 && uncancelledSourceCount == 0 }
}

/// The Dispatch sources of one descriptor, created on first use. A source retains the descriptor until its cancellation
/// handler has run, because the descriptor must not be closed before.
///
/// Dispatch on Linux has two defects. A read source that is created while a write source waits is never called, so the
/// read source is created first (compare swift-corelibs-libdispatch issue 833). A source is called at most once after a
/// hang-up, and not at all when a call was pending (pull request 477). The registration therefore checks for a hang-up
/// after every call, and repeats the notification until the source has been removed.
private final class DispatchRegistration: @unchecked Sendable {  // All state is accessed on the poller's queue only.
    private(set) var source: (any PollSource)?
    private let descriptor: SharedDescriptor
    private let poller: DispatchPoller
    private let queue: DispatchQueue
    private var interest: Readiness = []
    private var isReportingHangup = false
    private var reader: (any DispatchSourceProtocol)?
    private var writer: (any DispatchSourceProtocol)?

    init(source: any PollSource, descriptor: SharedDescriptor, poller: DispatchPoller, queue: DispatchQueue) {
        self.source = source
        self.descriptor = descriptor
        self.poller = poller
        self.queue = queue
    }

    func setInterest(_ new: Readiness) {
        defer { reportHangup() }
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
        let new = make()
        poller.sourceCreated()
        new.setEventHandler { [weak self, poller] in
            poller.turn { self?.fire(readiness) }
        }
        new.setCancelHandler { [descriptor, poller] in
            poller.turn { poller.sourceCancelled() }
            withExtendedLifetime(descriptor) {}
        }
        new.resume()
        slot = new
    }

    private func fire(_ readiness: Readiness) {
        // A call may be in flight when the interest ends.
        guard interest.contains(readiness) else { return }
        source?.pollReady(readiness)
        reportHangup()
    }

    private func reportHangup() {
        #if os(Linux)
            guard source != nil, !interest.isEmpty, !isReportingHangup, martlet_socket_hung_up(descriptor.number) != 0
            else {
                return
            }
            isReportingHangup = true
            queue.async { [poller] in
                poller.turn {
                    self.isReportingHangup = false
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
        // The cancellation handler of a suspended source never runs.
        if !isRunning { source.resume() }
    }
}
