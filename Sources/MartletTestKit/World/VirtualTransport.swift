import MartletLink
import MartletTransport
import MartletWire

/// One end of a virtual connection on a loop. An unstarted end closes when it is released.
///
/// | phase | meaning | left by |
/// |---|---|---|
/// | idle | connected, no handler | start, abort |
/// | open | | close, abort, a reset |
/// | finishing | flushing, input discarded | all bytes sent |
/// | draining | end of stream sent, input discarded | the peer's end of stream, a reset, `closeTimeout` |
/// | moved | another transport has the end | |
/// | closed | `didClose` at the end of the turn | |
final class VirtualTransport: Transport, TurnEndHandler, LoopStopHandler, @unchecked Sendable {
    // All state is used on its loop.
    private enum Phase {
        case idle
        case open
        case finishing
        case draining
        case moved
        case closed
    }

    let loop: EventLoop
    let localAddress: SocketAddress?
    let remoteAddress: SocketAddress?
    private let stream: VirtualStream
    private let atRelay: Bool
    private var phase = Phase.idle
    private var handler: (any TransportHandler)?
    private var unread = Deque<[UInt8]>()
    private var isPaused = false
    private var needsWrite = false
    private var isConnectPending = false
    private var isTurnEndPending = false
    private var isReadPending = false
    /// Whether the peer's end of the stream has arrived, behind the unread bytes.
    private var hasEnd = false
    private var hasReportedEnd = false
    private var hasClosedFirst = false
    private var isReset = false
    private var closeReason = CloseReason.local
    private var closeTimer: LoopTimer?

    init(
        _ stream: VirtualStream, atRelay: Bool, on loop: EventLoop, local: SocketAddress?, remote: SocketAddress?
    ) {
        self.stream = stream
        self.atRelay = atRelay
        self.loop = loop
        localAddress = local
        remoteAddress = remote
    }

    deinit {
        guard phase == .idle else { return }
        stream.finish(fromRelay: atRelay)
        stream.closed(atRelay: atRelay, isReset: false)
    }

    /// The path takes all bytes or none.
    var unsentByteCount: Int { 0 }

    var isStalled: Bool { stream.isStalled }

    func start(_ handler: any TransportHandler) {
        loop.preconditionOnLoop()
        precondition(phase == .idle && self.handler == nil, "a transport is started once")
        self.handler = handler
        phase = .open
        isConnectPending = true
        if isReset { return complete(.reset) }
        guard loop.add(self) else { return complete(.error(.loopStopped)) }
        scheduleTurnEnd()
    }

    func replaceHandler(_ handler: any TransportHandler) {
        self.handler = handler
    }

    func setNeedsWrite() {
        loop.preconditionOnLoop()
        needsWrite = true
        scheduleTurnEnd()
    }

    func flush() {
        loop.preconditionOnLoop()
        guard phase == .open, !isConnectPending else { return setNeedsWrite() }
        writeOut()
    }

    func pauseReading() {
        isPaused = true
    }

    func resumeReading() {
        isPaused = false
        scheduleRead()
    }

    func close(afterFlush: Bool) {
        loop.preconditionOnLoop()
        guard afterFlush else { return complete(hasReportedEnd ? .endOfStream : .local) }
        guard phase == .open else {
            if phase == .idle { complete(.local) }
            return
        }
        phase = .finishing
        hasClosedFirst = !hasReportedEnd
        discardUnread()
        let timer = LoopTimer(on: loop) { [weak self] in self?.abort() }
        timer.set(deadline: loop.deadline(after: VirtualPipe.closeTimeout))
        closeTimer = timer
        needsWrite = true
        scheduleTurnEnd()
    }

    func abort() {
        complete(.local, isReset: true)
    }

    func loopWillStop() {
        abort()
    }

    func move(to other: EventLoop) -> (any Transport)? {
        loop.preconditionOnLoop()
        guard phase == .open else { return nil }
        let moved = VirtualTransport(stream, atRelay: atRelay, on: other, local: localAddress, remote: remoteAddress)
        moved.unread = unread
        moved.needsWrite = needsWrite
        moved.hasEnd = hasEnd
        unread = Deque()
        phase = .moved
        loop.remove(self)
        handler = nil
        stream.set(moved, atRelay: atRelay)
        return moved
    }

    // MARK: - Events of the network

    /// Performs `body` on the loop, for the transport that has the end then.
    private func onLoop(_ body: @escaping @Sendable (VirtualTransport) -> Void) {
        loop.execute { body(self) }
    }

    func arrived(_ segment: [UInt8]) {
        onLoop { transport in
            guard transport.phase != .moved else { return transport.moved?.arrived(segment) ?? () }
            guard transport.phase == .open || transport.phase == .idle else {
                return transport.stream.noteRead(segment.count, atRelay: transport.atRelay)
            }
            transport.unread.append(segment)
            transport.readUnread()
        }
    }

    func endArrived() {
        onLoop { transport in
            guard transport.phase != .moved else { return transport.moved?.endArrived() ?? () }
            transport.hasEnd = true
            transport.readUnread()
        }
    }

    func resetArrived() {
        onLoop { transport in
            guard transport.phase != .moved else { return transport.moved?.resetArrived() ?? () }
            if transport.phase == .idle {
                transport.isReset = true
            } else {
                transport.complete(.reset)
            }
        }
    }

    func becameWritable() {
        onLoop { $0.writeOut() }
    }

    // MARK: - The end of the turn

    /// The transport to which the end has moved.
    private var moved: VirtualTransport? { stream.end(atRelay: atRelay) }

    private func scheduleTurnEnd() {
        guard !isTurnEndPending else { return }
        isTurnEndPending = true
        loop.onTurnEnd(self)
    }

    func loopTurnWillEnd() {
        isTurnEndPending = false
        if isConnectPending, phase != .closed, phase != .moved {
            isConnectPending = false
            handler?.transportDidConnect(self)
            scheduleRead()
        }
        if needsWrite { writeOut() }
        if phase == .closed, let handler {
            self.handler = nil
            handler.transport(self, didClose: closeReason)
        }
    }

    // MARK: - Reading

    private func scheduleRead() {
        guard !isReadPending else { return }
        isReadPending = true
        onLoop { transport in
            transport.isReadPending = false
            transport.readUnread()
        }
    }

    private func readUnread() {
        guard !isConnectPending else { return }
        while phase == .open, !isPaused, let segment = unread.popFirst() {
            handler?.transport(self, didReceive: segment.rawBytes)
            stream.noteRead(segment.count, atRelay: atRelay)
        }
        guard hasEnd, unread.isEmpty, !hasReportedEnd else { return }
        switch phase {
        case .open where !isPaused:
            hasReportedEnd = true
            handler?.transportDidReceiveEndOfStream(self)
        case .draining: complete(.local)
        case .finishing: hasReportedEnd = true
        case .idle, .open, .moved, .closed: break
        }
    }

    private func discardUnread() {
        while let segment = unread.popFirst() { stream.noteRead(segment.count, atRelay: atRelay) }
    }

    // MARK: - Writing

    private func writeOut() {
        guard phase == .open || phase == .finishing, !isConnectPending else { return }
        needsWrite = false
        while phase == .open || phase == .finishing, stream.takesMore(fromRelay: atRelay) {
            var mayHaveMore = false
            let bytes = [UInt8](capacity: VirtualPipe.bufferByteCount / 2) { buffer in
                mayHaveMore = handler?.transport(self, fill: &buffer) ?? false
            }
            if !bytes.isEmpty { stream.send(bytes, fromRelay: atRelay) }
            if !mayHaveMore || bytes.isEmpty { return drained() }
        }
    }

    private func drained() {
        // The handler requested another fill while it filled.
        if needsWrite { return scheduleTurnEnd() }
        guard phase == .finishing else { return }
        stream.finish(fromRelay: atRelay)
        if hasReportedEnd { return complete(hasClosedFirst ? .local : .endOfStream) }
        phase = .draining
    }

    private func complete(_ reason: CloseReason, isReset: Bool = false) {
        guard phase != .closed, phase != .moved else { return }
        let hasSentEnd = phase == .draining
        phase = .closed
        closeReason = reason
        discardUnread()
        closeTimer?.set(deadline: nil)
        closeTimer = nil
        loop.remove(self)
        if !hasSentEnd, !isReset, reason != .reset { stream.finish(fromRelay: atRelay) }
        stream.closed(atRelay: atRelay, isReset: isReset)
        if handler != nil { scheduleTurnEnd() }
    }
}
