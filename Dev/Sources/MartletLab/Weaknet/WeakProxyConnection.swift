internal import MartletTransport
internal import MartletWire

/// A connection through the proxy: the accepted socket, the socket to the target, and a timer for the bytes between
/// them. It ends when both sockets are closed.
final class WeakProxyConnection {
    private let number: WeakLink.ConnectionNumber
    private let core: WeakProxy.Core
    private let near: TCPConnection
    private var far: TCPConnection?
    private var connector: TCPConnector?
    private var timer: LoopTimer?
    private var isNearClosed = false
    private var isFarClosed = false
    /// The directions whose end has arrived. Their sockets are closing in order.
    private var endedDirections: Set<WeakLink.Direction> = []
    private var pausedDirections: Set<WeakLink.Direction> = []

    init(_ number: WeakLink.ConnectionNumber, _ near: TCPConnection, _ core: WeakProxy.Core) {
        self.number = number
        self.near = near
        self.core = core
    }

    /// Reads from the accepted socket, and connects to the target as soon as the link transfers bytes.
    func start() {
        timer = LoopTimer(on: core.loop) { [weak self] in self?.wake() }
        near.start(Side(self, sends: .up))
        wake()
    }

    /// Resets the connection on both sides.
    func abort() {
        near.abort()
        if let far { far.abort() } else { farIsClosed() }
    }

    /// Performs all actions that are due.
    private func wake() {
        let now = core.now
        if core.link.isCut(number, now: now) { return abort() }
        if far == nil, connector == nil, !isFarClosed {
            let opening = core.link.firstOpening(from: now)
            if opening > now { return arm(opening) }
            connect()
        }
        for direction in WeakLink.Direction.allCases where core.link.isReady(number, direction, now: now) {
            receiver(of: direction)?.setNeedsWrite()
        }
        arm(core.link.nextArrival(number, after: now))
    }

    private func arm(_ time: Duration?) {
        timer?.set(deadline: core.deadline(time))
    }

    private func connect() {
        var options = TCPConnector.Options()
        options.connection = core.socketOptions
        let connector = TCPConnector(to: [core.target], on: core.loop, options: options)
        self.connector = connector
        connector.start { result in self.connected(result) }
    }

    private func connected(_ result: Result<TCPConnection, TransportError>) {
        connector = nil
        switch result {
        case .success(let socket):
            guard !isFarClosed, !isNearClosed else { return }
            far = socket
            if let client = near.remoteAddress, let server = socket.remoteAddress {
                core.record { recorder, now in recorder.open(number, from: client, to: server, now: now) }
            }
            socket.start(Side(self, sends: .down))
            wake()
        case .failure(.cancelled):
            break
        case .failure:
            core.link.targetWasUnreachable()
            near.abort()
            farIsClosed()
        }
    }

    private func sender(of direction: WeakLink.Direction) -> TCPConnection? { direction == .up ? near : far }
    private func receiver(of direction: WeakLink.Direction) -> TCPConnection? { direction == .up ? far : near }

    private func received(_ bytes: RawSpan, _ direction: WeakLink.Direction) {
        core.link.push([UInt8](copying: bytes), number, direction, now: core.now)
        if !core.link.hasRoom(number, direction) {
            pausedDirections.insert(direction)
            sender(of: direction)?.pauseReading()
        }
        wake()
    }

    private func ended(_ direction: WeakLink.Direction) {
        core.link.pushEnd(number, direction, now: core.now)
        wake()
    }

    private func fill(_ buffer: inout OutputRawSpan, _ direction: WeakLink.Direction) {
        switch core.link.pull(number, direction, into: &buffer, now: core.now) {
        case .end:
            endedDirections.insert(direction)
            core.record { recorder, now in recorder.end(number, direction, now: now) }
            receiver(of: direction)?.close(afterFlush: true)
        case .bytes(let byteCount):
            let arrived = buffer.bytes.extracting(last: byteCount)
            core.record { recorder, now in recorder.carry(arrived, number, direction, now: now) }
        }
        if pausedDirections.contains(direction), core.link.hasRoom(number, direction) {
            pausedDirections.remove(direction)
            sender(of: direction)?.resumeReading()
        }
        arm(core.link.nextArrival(number, after: core.now))
    }

    /// Processes the end of a socket. An orderly end is transferred to the other side; any other end resets the other
    /// side.
    private func closed(_ direction: WeakLink.Direction, _ reason: CloseReason) {
        if direction == .up { isNearClosed = true } else { isFarClosed = true }
        if isNearClosed, isFarClosed || far == nil { return finish() }
        let other: WeakLink.Direction = direction == .up ? .down : .up
        if reason == .endOfStream || reason == .local && endedDirections.contains(other) {
            ended(direction)
        } else {
            receiver(of: direction)?.abort()
        }
    }

    private func farIsClosed() {
        connector?.cancel()
        isFarClosed = true
        if isNearClosed { finish() }
    }

    private func finish() {
        timer?.set(deadline: nil)
        connector?.cancel()
        core.remove(number)
    }
}

extension WeakProxyConnection {
    /// The handler of one socket. Received bytes are pushed into one direction, and sent bytes are pulled from the
    /// other.
    final class Side: TransportHandler {
        private let connection: WeakProxyConnection
        private let sends: WeakLink.Direction

        init(_ connection: WeakProxyConnection, sends: WeakLink.Direction) {
            self.connection = connection
            self.sends = sends
        }

        private var receives: WeakLink.Direction { sends == .up ? .down : .up }

        func transportDidConnect(_ transport: any Transport) { connection.wake() }

        func transport(_ transport: any Transport, didReceive bytes: RawSpan) { connection.received(bytes, sends) }

        func transport(_ transport: any Transport, fill buffer: inout OutputRawSpan) -> Bool {
            connection.fill(&buffer, receives)
            return true
        }

        func transportDidReceiveEndOfStream(_ transport: any Transport) { connection.ended(sends) }

        func transport(_ transport: any Transport, didClose reason: CloseReason) { connection.closed(sends, reason) }
    }
}
