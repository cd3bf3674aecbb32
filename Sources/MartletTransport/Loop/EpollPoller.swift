#if os(Linux)
    import CMartletSystem

    /// A poller with epoll on a thread of its own.
    ///
    /// An eventfd wakes the thread. A timerfd on the boot-time clock ends its sleep, so a deadline that passes while
    /// the machine is suspended is noticed on resumption. Both are edge-triggered and never read.
    final class EpollPoller: Poller, @unchecked Sendable {  // All state is accessed on its thread only.
        private static let wakeToken = UInt64.max
        private static let timerToken = UInt64.max - 1

        private struct Registration {
            var source: any PollSource
            var descriptor: Int32
        }

        private let epoll: FileDescriptor
        private let eventfd: FileDescriptor
        private let timerfd: FileDescriptor
        private var events = [martlet_event](repeating: martlet_event(), count: Int(martlet_event_capacity))
        private var slots = PollSlots<Registration>()
        private var armedDeadline = UInt64.max
        private var spin: AdaptiveSpin

        init(spinLimit: UInt64) throws(TransportError) {
            spin = AdaptiveSpin(limit: spinLimit)
            epoll = try FileDescriptor(martlet_epoll_open(), from: "epoll_create")
            eventfd = try FileDescriptor(martlet_wake_open(), from: "eventfd")
            timerfd = try FileDescriptor(martlet_timer_open(), from: "timerfd_create")
            for (descriptor, token) in [(eventfd.number, Self.wakeToken), (timerfd.number, Self.timerToken)] {
                let result = martlet_epoll_add_edge(epoll.number, descriptor, token)
                guard result == 0 else { throw TransportError(errno: -result, call: "epoll_ctl") }
            }
        }

        func start(_ loop: EventLoop) throws(TransportError) {
            if let failure = startThread(named: loop.name, { self.run(loop) }) { throw failure }
        }

        func wake() {
            martlet_wake(eventfd.number)
        }

        private func run(_ loop: EventLoop) {
            loop.becomeCurrent()
            while true {
                let isSleeping = loop.prepareToSleep()
                if isSleeping { arm(loop.nextDeadline) }
                let count = wait(isSleeping: isSleeping)
                loop.beginTurn()
                for index in 0..<count { deliver(events[index]) }
                loop.finishTurn()
                guard let waiters = loop.stopIfDone() else { continue }
                loop.resignCurrent()
                for waiter in waiters { waiter.resume() }
                return
            }
        }

        private func wait(isSleeping: Bool) -> Int {
            guard isSleeping, spin.limit > 0 else { return poll(isSleeping: isSleeping) }
            let start = martlet_clock()
            let spinTime = spin.duration
            var count = 0
            if spinTime > 0 {
                repeat { count = poll(isSleeping: false) } while count == 0 && martlet_clock() - start < spinTime
            }
            if count == 0 { count = poll(isSleeping: true) }
            spin.recordWait(martlet_clock() - start)
            return count
        }

        private func poll(isSleeping: Bool) -> Int {
            let result = unsafe martlet_epoll_wait(epoll.number, &events, isSleeping ? 1 : 0)
            precondition(result >= 0, "epoll_wait failed: \(-result)")
            return Int(result)
        }

        private func deliver(_ event: martlet_event) {
            switch event.token {
            case Self.wakeToken: break
            case Self.timerToken: armedDeadline = .max
            default:
                let key = PollKey(
                    index: Int32(truncatingIfNeeded: event.token & 0xFFFF_FFFF),
                    generation: UInt32(truncatingIfNeeded: event.token >> 32))
                guard let registration = slots[key] else { return }
                registration.source.pollReady(Readiness(rawValue: event.readiness))
            }
        }

        /// The timerfd is set to earlier times only. An early wake-up costs one empty turn, while setting it for every
        /// change costs a system call each.
        private func arm(_ deadline: UInt64) {
            guard deadline < armedDeadline else { return }
            armedDeadline = deadline
            martlet_timer_set(timerfd.number, deadline)
        }

        func add(
            _ source: any PollSource, _ descriptor: SharedDescriptor, interest: Readiness
        ) throws(TransportError) -> PollKey {
            let key = slots.insert { _ in Registration(source: source, descriptor: descriptor.number) }
            let result = martlet_epoll_add(epoll.number, descriptor.number, interest.rawValue, token(key))
            guard result == 0 else {
                _ = slots.remove(key)
                throw TransportError(errno: -result, call: "epoll_ctl")
            }
            return key
        }

        func setInterest(_ interest: Readiness, of key: PollKey) {
            guard let registration = slots[key] else { return }
            let result = martlet_epoll_change(epoll.number, registration.descriptor, interest.rawValue, token(key))
            assert(result == 0)
        }

        func remove(_ key: PollKey) {
            guard let registration = slots.remove(key) else { return }
            _ = martlet_epoll_remove(epoll.number, registration.descriptor)
        }

        var sources: [any PollSource] { slots.elements.map(\.source) }

        var isIdle: Bool { slots.count == 0 }

        private func token(_ key: PollKey) -> UInt64 {
            UInt64(key.generation) << 32 | UInt64(truncatingIfNeeded: key.index)
        }
    }
#endif
