import CMartletSystem

/// A TCP connection on a loop, from a listener or a connector. It reads nothing before `start(_:)`; one that is dropped
/// unstarted closes. Idle it holds no buffer.
///
/// | phase | means | left by |
/// |---|---|---|
/// | idle | connected, no handler yet | start, abort |
/// | open | reading unless paused or ended, writing when asked | close, abort, an error |
/// | finishing | flushing, input discarded | all sent: the end is sent |
/// | draining | end sent, input discarded | the peer's end, an error, `closeTimeout` |
/// | closed | descriptor let go; `didClose` at the turn's end | |
public final class TCPConnection: Transport, @unchecked Sendable {  // all state is touched on its loop only
    enum Phase {
        case idle
        case open
        case finishing
        case draining
        case closed
    }

    /// Reads of one turn, each up to `EventLoop.readBufferByteCount`; then other connections have theirs.
    static let maxReadsPerTurn = 4
    /// Full write buffers of one turn.
    static let maxFillsPerTurn = 8
    /// How much of the write buffer is filled at once, in bytes, until the kernel has taken `flowingByteCount` without
    /// a refusal: what it refuses is kept, and a peer that does not read is to cost little.
    static let smallFillByteCount = 20 << 10
    static let flowingByteCount = 1 << 20

    /// Where the connection lives.
    public let loop: EventLoop
    /// The peer; nil when it was gone before it could be asked for.
    public let remoteAddress: SocketAddress?
    private let settings: SharedTCPOptions

    // All below belongs to the loop, or before `start(_:)` to whoever holds the connection.
    private var descriptor: SharedDescriptor?
    private var key: PollKey?
    private(set) var phase = Phase.idle
    private var handler: (any TransportHandler)?
    private var interest: Readiness = []
    private var isReadingPaused = false
    private var hasReceivedEnd = false
    private var hasClosedFirst = false
    private var isTurnEndPending = false
    private var isConnectPending = false
    private var needsWrite = false
    /// What the kernel has taken since it last refused some, in bytes.
    private var takenByteCount = 0
    /// Nil while the kernel takes what it is given and nobody thinks of the end.
    private var trouble: Trouble?

    private final class Trouble {
        var unsent = UnsentBytes()
        var writeFailure: CloseReason?
        var closeReason = CloseReason.local
        var closeTimer: LoopTimer?
    }

    init(_ descriptor: SharedDescriptor, remote: SocketAddress?, on loop: EventLoop, options: SharedTCPOptions) {
        self.descriptor = descriptor
        self.loop = loop
        settings = options
        remoteAddress = remote
    }

    /// What was set on the socket.
    public var options: TCPOptions { settings.options }

    /// This side of the connection; nil once it is closed.
    public var localAddress: SocketAddress? {
        guard let descriptor else { return nil }
        var address = martlet_address()
        guard unsafe martlet_socket_local_address(descriptor.number, &address) == 0 else { return nil }
        return SocketAddress(address)
    }

    /// In bytes, at most `EventLoop.writeBufferByteCount`.
    public var unsentByteCount: Int { trouble?.unsent.count ?? 0 }

    /// Whether TCP's retransmission timer has run out and nothing was acknowledged since (RFC 6298 §5.4).
    public var isStalled: Bool {
        guard let descriptor else { return false }
        return martlet_socket_stalled(descriptor.number) > 0
    }

    // MARK: what the owner says

    /// Begins to read and write for `handler`; see `Transport`.
    public func start(_ handler: any TransportHandler) {
        loop.preconditionOnLoop()
        precondition(phase == .idle && self.handler == nil, "a transport is started once")
        self.handler = handler
        guard let descriptor else { return complete(.local) }
        phase = .open
        isConnectPending = true
        interest = .readable
        do throws(TransportError) {
            key = try loop.add(self, descriptor, interest: interest)
            scheduleTurnEnd()
        } catch {
            complete(.error(error))
        }
    }

    /// Asks the handler for bytes at the end of this turn; see `Transport`.
    public func setNeedsWrite() {
        loop.preconditionOnLoop()
        guard !needsWrite else { return }
        needsWrite = true
        // While the kernel takes no more, the flush comes with its next readiness.
        if !interest.contains(.writable) { scheduleTurnEnd() }
    }

    /// Asks the handler for bytes at once; see `Transport`.
    public func flush() {
        loop.preconditionOnLoop()
        guard phase == .open, !isConnectPending, !interest.contains(.writable) else { return setNeedsWrite() }
        writeOut()
    }

    /// Leaves what comes in the kernel, whose window then closes; see `Transport`.
    public func pauseReading() {
        loop.preconditionOnLoop()
        isReadingPaused = true
        updateInterest()
    }

    /// Reads again; see `Transport`.
    public func resumeReading() {
        loop.preconditionOnLoop()
        isReadingPaused = false
        updateInterest()
    }

    /// Ends the connection, flushed or not; see `Transport`.
    public func close(afterFlush: Bool) {
        loop.preconditionOnLoop()
        guard afterFlush else {
            if phase != .closed { complete(hasReceivedEnd ? .endOfStream : .local) }
            return
        }
        guard phase == .open else {
            if phase == .idle { complete(.local) }
            return
        }
        phase = .finishing
        hasClosedFirst = !hasReceivedEnd
        let timer = LoopTimer(on: loop) { [weak self] in self?.abort() }
        timer.set(deadline: loop.deadline(after: options.closeTimeout))
        inTrouble.closeTimer = timer
        updateInterest()
        needsWrite = true
        scheduleTurnEnd()
    }

    /// Resets the connection; see `Transport`.
    public func abort() {
        loop.preconditionOnLoop()
        guard phase != .closed else { return }
        if let descriptor { martlet_socket_reset_on_close(descriptor.number) }
        complete(.local)
    }

    /// The same connection on another loop; see `Transport`.
    public func move(to other: EventLoop) -> (any Transport)? {
        loop.preconditionOnLoop()
        guard phase == .open, let descriptor else { return nil }
        let moved = TCPConnection(descriptor, remote: remoteAddress, on: other, options: settings)
        moved.trouble = trouble
        moved.needsWrite = needsWrite || trouble != nil
        trouble = nil
        handler = nil
        needsWrite = false
        complete(.local)
        return moved
    }

    // MARK: the turn's end

    private func scheduleTurnEnd() {
        guard !isTurnEndPending else { return }
        isTurnEndPending = true
        loop.flushAtTurnEnd(self)
    }

    func turnEnded() {
        isTurnEndPending = false
        if isConnectPending, phase != .closed {
            isConnectPending = false
            handler?.transportDidConnect(self)
        }
        if needsWrite { writeOut() }
        if phase == .closed, let handler {
            self.handler = nil
            handler.transport(self, didClose: trouble?.closeReason ?? .local)
        }
    }

    // MARK: reading

    private func readAvailable(_ descriptor: Int32) {
        let buffer = loop.readBuffer
        for _ in 0..<Self.maxReadsPerTurn where interest.contains(.readable) {
            let limit = loop.readByteCount
            let count = buffer.receive(limit, from: descriptor)
            guard count > 0 else { return readEnded(count) }
            if phase == .open {
                buffer.withBytes(count) { handler?.transport(self, didReceive: $0) }
            }
            if count < limit { return }
        }
    }

    private func readEnded(_ result: Int) {
        if result < 0 {
            let number = Int32(-result)
            if isWouldBlock(number) { return }
            return complete(trouble?.writeFailure ?? CloseReason(TransportError(errno: number, call: "recv")))
        }
        if let failure = trouble?.writeFailure { return complete(failure) }
        hasReceivedEnd = true
        updateInterest()
        switch phase {
        case .open: handler?.transportDidReceiveEndOfStream(self)
        case .draining: complete(.local)
        case .idle, .finishing, .closed: break
        }
    }

    // MARK: writing

    private func writeOut() {
        guard phase == .open || phase == .finishing, let descriptor else { return }
        if let trouble {
            guard trouble.writeFailure == nil else { return }
            needsWrite = false
            if trouble.unsent.count > 0, !sendUnsent(trouble, descriptor.number) { return }
            // An open connection that flows again keeps nothing.
            if phase == .open { self.trouble = nil }
        }
        needsWrite = false
        for _ in 0..<Self.maxFillsPerTurn {
            let (filled, mayHaveMore) = fillBuffer()
            guard phase == .open || phase == .finishing else { return }
            if filled > 0 {
                guard send(filled, to: descriptor.number) else { return }
            }
            if !mayHaveMore { return drained() }
        }
        // There is more: the socket is told writable again as soon as the others had their turn.
        setInterest(interest.union(.writable))
    }

    private func fillBuffer() -> (byteCount: Int, mayHaveMore: Bool) {
        let isFlowing = takenByteCount >= Self.flowingByteCount
        return loop.writeBuffer.fill(isFlowing ? loop.writeBuffer.byteCount : Self.smallFillByteCount) {
            handler?.transport(self, fill: &$0) ?? false
        }
    }

    /// True when all of it is gone.
    private func sendUnsent(_ trouble: Trouble, _ descriptor: Int32) -> Bool {
        let result = trouble.unsent.send(to: descriptor)
        guard result >= 0 else { return writeRefused(Int32(-result)) }
        trouble.unsent.discard(result)
        return trouble.unsent.count == 0 || writeRefused(0)
    }

    /// True when all of it is gone; keeps the rest otherwise.
    private func send(_ filled: Int, to descriptor: Int32) -> Bool {
        let result = loop.writeBuffer.send(filled, to: descriptor)
        if result == filled {
            takenByteCount = min(takenByteCount + filled, Self.flowingByteCount)
            return true
        }
        takenByteCount = 0
        if result < 0, !isWouldBlock(Int32(-result)) { return writeRefused(Int32(-result)) }
        inTrouble.unsent.keep(loop.writeBuffer.copy(max(result, 0)..<filled))
        return writeRefused(0)
    }

    /// The kernel took not all (`number` 0 or "would block"), or the stream is broken.
    private func writeRefused(_ number: Int32) -> Bool {
        if number == 0 || isWouldBlock(number) {
            setInterest(interest.union(.writable))
            return false
        }
        let reason = CloseReason(TransportError(errno: number, call: "send"))
        needsWrite = false
        trouble?.unsent.removeAll()
        setInterest(interest.subtracting(.writable))
        // The peer may have said why before it hung up: that is still to be read, up to the end or the error behind it.
        guard reason == .reset, interest.contains(.readable), phase == .open else {
            complete(reason)
            return false
        }
        inTrouble.writeFailure = reason
        return false
    }

    private func drained() {
        setInterest(interest.subtracting(.writable))
        // Asked for while the handler was being asked: with no readiness to come, the turn's end must see to it.
        if needsWrite { return scheduleTurnEnd() }
        guard phase == .finishing, let descriptor else { return }
        if martlet_socket_finish(descriptor.number) < 0 || hasReceivedEnd {
            return complete(hasClosedFirst ? .local : .endOfStream)
        }
        phase = .draining
    }

    // MARK: interest and the end

    private func updateInterest() {
        guard phase != .idle, phase != .closed else { return }
        let isReading = !hasReceivedEnd && (!isReadingPaused || phase != .open)
        setInterest(isReading ? interest.union(.readable) : interest.subtracting(.readable))
    }

    private func setInterest(_ new: Readiness) {
        guard new != interest, let key else { return }
        interest = new
        loop.setInterest(new, of: key)
    }

    private var inTrouble: Trouble {
        if let trouble { return trouble }
        let made = Trouble()
        trouble = made
        return made
    }

    private func complete(_ reason: CloseReason) {
        guard phase != .closed else { return }
        phase = .closed
        interest = []
        inTrouble.closeReason = reason
        trouble?.unsent.removeAll()
        trouble?.closeTimer?.set(deadline: nil)
        trouble?.closeTimer = nil
        if let key { loop.remove(key) }
        key = nil
        descriptor = nil
        if handler != nil { scheduleTurnEnd() }
    }
}

extension TCPConnection: PollSource {
    func pollReady(_ readiness: Readiness) {
        guard let descriptor else { return }
        if !readiness.isDisjoint(with: [.readable, .hungUp]), interest.contains(.readable) {
            readAvailable(descriptor.number)
        }
        if readiness.contains(.writable), interest.contains(.writable) { writeOut() }
        // Nobody reads, so nobody would see it, and the poller would tell of it for ever.
        if readiness.contains(.hungUp), phase != .closed, !interest.contains(.readable) {
            let pending = -martlet_socket_error(descriptor.number)
            let error = pending > 0 ? CloseReason(TransportError(errno: pending, call: "poll")) : nil
            complete(error ?? (hasClosedFirst ? .local : hasReceivedEnd ? .endOfStream : .reset))
        }
    }

    func loopWillStop() {
        abort()
    }
}
