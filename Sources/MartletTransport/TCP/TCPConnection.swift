import CMartletSystem

/// A TCP connection on a loop, from a listener or a connector. Reading begins after `start(_:)`. An unstarted
/// connection closes when it is released. An idle connection holds no buffer.
///
/// | phase | meaning | left by |
/// |---|---|---|
/// | idle | connected, no handler | start, abort |
/// | open | reading unless paused or ended, writing on request | close, abort, an error |
/// | finishing | flushing, input discarded | all bytes sent |
/// | draining | end of stream sent, input discarded | the peer's end of stream, an error, `closeTimeout` or another duration |
/// | closed | descriptor released; `didClose` at the end of the turn | |
package final class TCPConnection: Transport, @unchecked Sendable {  // All state is accessed on its loop only.
    private enum Phase {
        case idle
        case open
        case finishing
        case draining
        case closed
    }

    /// The maximum number of reads in a turn, each up to `EventLoop.readBufferByteCount`.
    private static let maxReadsPerTurn = 4
    /// The maximum number of full write buffers in a turn.
    private static let maxFillsPerTurn = 8
    /// The size of one fill in bytes, until the kernel has taken `flowingByteCount` bytes without a refusal. Refused
    /// bytes are kept, so this bounds the memory for a peer that does not read.
    static let smallFillByteCount = 20 << 10  // bound
    private static let flowingByteCount = 1 << 20

    /// The loop of the connection.
    package let loop: EventLoop
    /// The peer's address; nil when the connection closed before the address was read.
    package let remoteAddress: SocketAddress?
    private let settings: SharedTCPOptions
    /// The endpoint to which a connector connected; nil for an accepted connection.
    package internal(set) var endpoint: Endpoint?

    // The loop accesses all properties below; before `start(_:)`, the connection's owner.
    private var descriptor: SharedDescriptor?
    private var key: PollKey?
    private var phase = Phase.idle
    private var handler: (any TransportHandler)?
    private var interest: Readiness = []
    private var isReadingPaused = false
    private var hasReceivedEnd = false
    private var hasClosedFirst = false
    private var isTurnEndPending = false
    private var isConnectPending = false
    private var needsWrite = false
    /// Whether a send failed with a reset. Reading continues up to the end of the stream or the error.
    private var hasWriteFailed = false
    /// Bytes that the kernel has taken since its last refusal, up to `flowingByteCount`.
    private var takenByteCount = 0
    /// The state of the slow path; nil while the kernel takes all bytes and the connection is not closing.
    private var slowPath: SlowPath?

    private final class SlowPath {
        var unsent = UnsentBytes()
        var closeReason = CloseReason.local
        var closeTimer: LoopTimer?
    }

    init(_ descriptor: SharedDescriptor, remote: SocketAddress?, on loop: EventLoop, options: SharedTCPOptions) {
        self.descriptor = descriptor
        self.loop = loop
        settings = options
        remoteAddress = remote
    }

    /// The local address; nil after the connection is closed.
    package var localAddress: SocketAddress? {
        guard let descriptor else { return nil }
        var address = martlet_address()
        guard unsafe martlet_socket_local_address(descriptor.number, &address) == 0 else { return nil }
        return SocketAddress(address)
    }

    /// The number of unsent bytes, at most `EventLoop.writeBufferByteCount`.
    package var unsentByteCount: Int { slowPath?.unsent.count ?? 0 }

    /// Whether TCP's retransmission timer has expired without an acknowledgement since (RFC 6298 §5.4).
    package var isStalled: Bool {
        guard let descriptor else { return false }
        return martlet_socket_stalled(descriptor.number) > 0
    }

    // MARK: - Transport

    /// Starts reading and writing; see `Transport`.
    package func start(_ handler: any TransportHandler) {
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

    /// Replaces the handler; see `Transport`.
    package func replaceHandler(_ handler: any TransportHandler) {
        self.handler = handler
    }

    /// Requests a fill at the end of this turn; see `Transport`.
    package func setNeedsWrite() {
        loop.preconditionOnLoop()
        guard !needsWrite else { return }
        needsWrite = true
        // While the kernel takes no more bytes, the next readiness causes the fill.
        if !interest.contains(.writable) { scheduleTurnEnd() }
    }

    /// Fills and sends at once; see `Transport`.
    package func flush() {
        loop.preconditionOnLoop()
        guard phase == .open, !isConnectPending, !interest.contains(.writable) else { return setNeedsWrite() }
        writeOut()
    }

    /// Stops reading, which closes the receive window; see `Transport`.
    package func pauseReading() {
        loop.preconditionOnLoop()
        isReadingPaused = true
        updateInterest()
    }

    /// Resumes reading; see `Transport`.
    package func resumeReading() {
        loop.preconditionOnLoop()
        isReadingPaused = false
        updateInterest()
    }

    /// Closes the connection; see `Transport`.
    package func close(afterFlush: Bool) {
        loop.preconditionOnLoop()
        if afterFlush { return close(within: settings.options.closeTimeout) }
        if phase != .closed { complete(hasReceivedEnd ? .endOfStream : .local) }
    }

    /// Closes the connection after a flush, at most after the duration; see `Transport`.
    package func close(within duration: Duration) {
        loop.preconditionOnLoop()
        guard phase == .open else {
            if phase == .idle { complete(.local) }
            return
        }
        phase = .finishing
        hasClosedFirst = !hasReceivedEnd
        let timer = LoopTimer(on: loop) { [weak self] in self?.abort() }
        timer.set(deadline: loop.deadline(after: duration))
        existingSlowPath.closeTimer = timer
        updateInterest()
        needsWrite = true
        scheduleTurnEnd()
    }

    /// Resets the connection; see `Transport`.
    package func abort() {
        loop.preconditionOnLoop()
        guard phase != .closed else { return }
        if let descriptor { martlet_socket_reset_on_close(descriptor.number) }
        complete(.local)
    }

    /// Moves the connection to another loop; see `Transport`.
    package func move(to other: EventLoop) -> (any Transport)? {
        loop.preconditionOnLoop()
        guard phase == .open, let descriptor else { return nil }
        let moved = TCPConnection(descriptor, remote: remoteAddress, on: other, options: settings)
        moved.slowPath = slowPath
        moved.needsWrite = needsWrite || slowPath != nil
        slowPath = nil
        handler = nil
        needsWrite = false
        complete(.local)
        return moved
    }

    // MARK: - End of the turn

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
            handler.transport(self, didClose: slowPath?.closeReason ?? .local)
        }
    }

    // MARK: - Reading

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
            return complete(hasWriteFailed ? .reset : CloseReason(TransportError(errno: number, call: "recv")))
        }
        if hasWriteFailed { return complete(.reset) }
        hasReceivedEnd = true
        updateInterest()
        switch phase {
        case .open: handler?.transportDidReceiveEndOfStream(self)
        case .draining: complete(.local)
        case .idle, .finishing, .closed: break
        }
    }

    // MARK: - Writing

    private func writeOut() {
        guard phase == .open || phase == .finishing, let descriptor, !hasWriteFailed else { return }
        needsWrite = false
        guard sendUnsent(to: descriptor.number) else { return }
        if phase == .open { slowPath = nil }
        for _ in 0..<Self.maxFillsPerTurn {
            let (filled, mayHaveMore) = fillBuffer()
            guard phase == .open || phase == .finishing else { return }
            guard filled == 0 || send(filled, to: descriptor.number) else { return }
            if !mayHaveMore { return drained() }
        }
        // Level-triggered readiness continues the write after the other connections' turns.
        setInterest(interest.union(.writable))
    }

    private func fillBuffer() -> (byteCount: Int, mayHaveMore: Bool) {
        let isFlowing = takenByteCount >= Self.flowingByteCount
        return loop.writeBuffer.fill(isFlowing ? loop.writeBuffer.byteCount : Self.smallFillByteCount) {
            handler?.transport(self, fill: &$0) ?? false
        }
    }

    /// Sends the kept bytes. Returns whether all of them are sent.
    private func sendUnsent(to descriptor: Int32) -> Bool {
        guard let slowPath, slowPath.unsent.count > 0 else { return true }
        let result = slowPath.unsent.send(to: descriptor)
        slowPath.unsent.discard(max(result, 0))
        if slowPath.unsent.count == 0 { return true }
        stopWriting(result)
        return false
    }

    /// Sends the first `filled` bytes of the write buffer and keeps the rest. Returns whether all of them are sent.
    private func send(_ filled: Int, to descriptor: Int32) -> Bool {
        let result = loop.writeBuffer.send(filled, to: descriptor)
        if result == filled {
            takenByteCount = min(takenByteCount + filled, Self.flowingByteCount)
            return true
        }
        takenByteCount = 0
        existingSlowPath.unsent.keep(loop.writeBuffer.copy(max(result, 0)..<filled))
        stopWriting(result)
        return false
    }

    /// Handles a send that did not take all bytes: waits for the kernel, or ends the connection for an error.
    private func stopWriting(_ result: Int) {
        if result >= 0 || isWouldBlock(Int32(-result)) { return setInterest(interest.union(.writable)) }
        let reason = CloseReason(TransportError(errno: Int32(-result), call: "send"))
        needsWrite = false
        slowPath?.unsent.removeAll()
        setInterest(interest.subtracting(.writable))
        // The peer may have sent a reason before it closed.
        guard reason == .reset, interest.contains(.readable), phase == .open else { return complete(reason) }
        hasWriteFailed = true
    }

    private func drained() {
        setInterest(interest.subtracting(.writable))
        // The handler requested another fill while it filled. No readiness follows, so the end of the turn causes it.
        if needsWrite { return scheduleTurnEnd() }
        guard phase == .finishing, let descriptor else { return }
        if martlet_socket_finish(descriptor.number) < 0 || hasReceivedEnd {
            return complete(hasClosedFirst ? .local : .endOfStream)
        }
        phase = .draining
    }

    // MARK: - Interest and close

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

    private var existingSlowPath: SlowPath {
        if let slowPath { return slowPath }
        let new = SlowPath()
        slowPath = new
        return new
    }

    private func complete(_ reason: CloseReason) {
        guard phase != .closed else { return }
        phase = .closed
        interest = []
        existingSlowPath.closeReason = reason
        slowPath?.unsent.removeAll()
        slowPath?.closeTimer?.set(deadline: nil)
        slowPath?.closeTimer = nil
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
        // No read would notice the hang-up, and the poller would report it in every turn.
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
