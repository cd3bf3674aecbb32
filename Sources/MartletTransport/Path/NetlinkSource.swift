#if os(Linux)
    import CMartletSystem

    /// The kernel's route socket. The source requests all links, addresses and routes, then listens for changes. It
    /// starts over when an entry was removed or messages were lost.
    ///
    /// | state | meaning |
    /// |---|---|
    /// | dumping | the dumps are requested one after another into a new table; nothing is reported |
    /// | settled | each change is applied and reported |
    final class NetlinkSource: PathSource, PollSource {
        /// RTM_GETLINK, RTM_GETADDR and RTM_GETROUTE. The kernel answers one request at a time.
        private static let dumpTypes: [UInt16] = [18, 22, 26]
        /// The maximum number of datagrams in a turn.
        private static let maxReadsPerTurn = 64
        /// The interval between dumps while the network keeps changing.
        private static let retryInterval = Duration.milliseconds(250)
        /// The timeout of a dump, after which its messages count as lost.
        private static let dumpTimeout = Duration.seconds(5)

        private let loop: EventLoop
        private var report: ((PathSnapshot) -> Void)?
        private var descriptor: SharedDescriptor?
        private var key: PollKey?
        private var table = PathTable()
        private var remainingDumps: ArraySlice<UInt16> = []
        private var isDumping = false
        private var isStale = false
        private var sequence: UInt32 = 0
        private var retryTimer: LoopTimer?

        init(on loop: EventLoop, _ report: @escaping (PathSnapshot) -> Void) {
            self.loop = loop
            self.report = report
        }

        func start() throws(TransportError) {
            let shared = SharedDescriptor(try FileDescriptor(martlet_netlink_open(), from: "socket"))
            key = try loop.add(self, shared, interest: .readable)
            descriptor = shared
            retryTimer = LoopTimer(on: loop) { [weak self] in self?.beginDump() }
            beginDump()
        }

        func cancel() {
            if let key { loop.remove(key) }
            retryTimer?.set(deadline: nil)
            retryTimer = nil
            key = nil
            descriptor = nil
            report = nil
        }

        func loopWillStop() {
            cancel()
        }

        func pollReady(_ readiness: Readiness) {
            for _ in 0..<Self.maxReadsPerTurn {
                guard let descriptor else { return }
                let result = loop.readBuffer.receiveNetlink(from: descriptor.number)
                if result < 0 {
                    if isWouldBlock(Int32(-result)) { break }
                    isStale = true  // ENOBUFS: the kernel dropped messages.
                    continue
                }
                for message in NetlinkMessage.parse(loop.readBuffer.copy(0..<result)) { handle(message) }
            }
            settle()
        }

        private func handle(_ message: NetlinkMessage) {
            if case .done(let number, let isConsistent) = message {
                guard isDumping, number == sequence else { return }
                if !isConsistent { isStale = true }
                return requestNextDump()
            }
            if table.apply(message) { isStale = true }
        }

        private func settle() {
            guard !isDumping else { return }
            if isStale {
                if retryTimer?.deadline == nil { beginDump() }
            } else {
                report?(table.snapshot)
            }
        }

        private func beginDump() {
            table = PathTable()
            isStale = false
            isDumping = true
            remainingDumps = Self.dumpTypes[...]
            retryTimer?.set(deadline: loop.deadline(after: Self.dumpTimeout))
            requestNextDump()
        }

        private func requestNextDump() {
            guard let descriptor, let type = remainingDumps.popFirst() else {
                isDumping = false
                return retryTimer?.set(deadline: isStale ? loop.deadline(after: Self.retryInterval) : nil) ?? ()
            }
            sequence &+= 1
            // The timer repeats a request that cannot be sent or whose answer is lost.
            _ = martlet_netlink_dump(descriptor.number, type, sequence)
        }
    }
#endif
