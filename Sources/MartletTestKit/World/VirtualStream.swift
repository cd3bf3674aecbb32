import MartletLink
import MartletTransport

/// A connection between a device and a relay: two directions with the conditions of the device's path, and two ends.
///
/// `@unchecked Sendable`: its state is used by the thread that runs the world.
final class VirtualStream: @unchecked Sendable {
    private static let segmentByteCount = 1460

    let path: VirtualPath
    private let client: VirtualHost
    private let relay: VirtualHost
    private let clientAddress: SocketAddress
    private let relayAddress: SocketAddress
    /// Whether the network drops all bytes without notice.
    var hasNoMapping = false
    private var up = VirtualPipe()
    private var down = VirtualPipe()
    private weak var clientEnd: VirtualTransport?
    private weak var relayEnd: VirtualTransport?
    private var isClientOpen = true
    private var isRelayOpen = true

    init(on path: VirtualPath, from client: VirtualHost, to relay: VirtualHost, at address: SocketAddress) {
        self.path = path
        self.client = client
        self.relay = relay
        clientAddress = SocketAddress(path.address, port: path.network.nextPort())
        relayAddress = address
    }

    private var scheduler: VirtualScheduler { path.network.scheduler }

    /// Whether both ends are closed.
    var isOver: Bool { !isClientOpen && !isRelayOpen }

    /// Whether sent bytes wait for the path.
    var isStalled: Bool { hasNoMapping || !path.isReachable }

    // MARK: - Ends

    func makeEnd(atRelay: Bool, on loop: EventLoop) -> VirtualTransport {
        let end = VirtualTransport(
            self, atRelay: atRelay, on: loop, local: atRelay ? relayAddress : clientAddress,
            remote: atRelay ? clientAddress : relayAddress)
        set(end, atRelay: atRelay)
        return end
    }

    /// Sets the transport of an end, initially and after a move to another loop.
    func set(_ end: VirtualTransport, atRelay: Bool) {
        if atRelay { relayEnd = end } else { clientEnd = end }
    }

    func end(atRelay: Bool) -> VirtualTransport? { atRelay ? relayEnd : clientEnd }

    private func isOpen(atRelay: Bool) -> Bool { atRelay ? isRelayOpen : isClientOpen }

    /// Breaks the connection. Both ends notice after the delay of the path.
    func cut() {
        guard !isOver else { return }
        for atRelay in [true, false] {
            scheduler.schedule(after: path.conditions.delay) { self.end(atRelay: atRelay)?.resetArrived() }
        }
    }

    /// Ends the connection of a host whose process has ended. The host's end sends nothing more, and the other end is
    /// notified after the delay of the path.
    func sever(from host: VirtualHost) {
        guard host === relay || host === client else { return }
        let atRelay = host === relay
        guard isOpen(atRelay: atRelay) else { return }
        closed(atRelay: atRelay, isReset: true)
        if atRelay { relayEnd = nil } else { clientEnd = nil }
    }

    // MARK: - Sending

    private func withPipe<Result>(fromRelay: Bool, _ body: (inout VirtualPipe) -> Result) -> Result {
        fromRelay ? body(&down) : body(&up)
    }

    /// Whether the path takes more bytes. Otherwise the end is called when it does.
    func takesMore(fromRelay: Bool) -> Bool {
        guard isOpen(atRelay: fromRelay) else { return false }
        let conditions = path.conditions
        let wait = withPipe(fromRelay: fromRelay) { pipe -> (takes: Bool, after: Duration?) in
            guard !pipe.isWaiting else { return (false, nil) }
            if pipe.unreadByteCount >= VirtualPipe.windowByteCount {
                pipe.isWaiting = true
                return (false, nil)
            }
            let backlog = pipe.backlog(conditions, now: scheduler.now)
            guard backlog >= VirtualPipe.bufferByteCount / 2 else { return (true, nil) }
            pipe.isWaiting = true
            let drained = Int64(backlog - VirtualPipe.bufferByteCount / 4) * 1_000_000
            return (false, .microseconds(drained / Int64(conditions.bytesPerSecond ?? 1)))
        }
        if let after = wait.after { scheduler.schedule(after: after) { self.becomeWritable(fromRelay: fromRelay) } }
        return wait.takes
    }

    private func becomeWritable(fromRelay: Bool) {
        withPipe(fromRelay: fromRelay) { $0.isWaiting = false }
        end(atRelay: fromRelay)?.becameWritable()
    }

    func send(_ bytes: [UInt8], fromRelay: Bool) {
        for start in stride(from: 0, to: bytes.count, by: Self.segmentByteCount) {
            let segment = Array(bytes[start..<min(start + Self.segmentByteCount, bytes.count)])
            let arrival = arrival(of: segment.count, fromRelay: fromRelay)
            withPipe(fromRelay: fromRelay) { $0.unreadByteCount += segment.count }
            deliver(fromRelay: fromRelay, at: arrival) { $0?.arrived(segment) }
        }
    }

    private func arrival(of byteCount: Int, fromRelay: Bool) -> Instant {
        let (conditions, random, now) = (path.conditions, path.network.nextRandom(), scheduler.now)
        return withPipe(fromRelay: fromRelay) {
            $0.send(byteCount, conditions, isStream: true, random: random, now: now)
        }
    }

    /// Delivers an event to the other end, in the order of the stream.
    private func deliver(fromRelay: Bool, at instant: Instant, _ body: @escaping (VirtualTransport?) -> Void) {
        scheduler.schedule(at: instant) {
            guard !self.hasNoMapping else { return }
            self.path.pass(fromRelay ? .down : .up) { body(self.end(atRelay: !fromRelay)) }
        }
    }

    /// Reports that the other end has read bytes, which opens the window.
    func noteRead(_ byteCount: Int, atRelay: Bool) {
        let wasFull = withPipe(fromRelay: !atRelay) { pipe in
            defer { pipe.unreadByteCount -= byteCount }
            return pipe.unreadByteCount >= VirtualPipe.windowByteCount
        }
        guard wasFull else { return }
        scheduler.schedule(after: path.conditions.delay) { self.becomeWritable(fromRelay: !atRelay) }
    }

    /// Sends the end of the stream after all bytes.
    func finish(fromRelay: Bool) {
        guard isOpen(atRelay: fromRelay) else { return }
        deliver(fromRelay: fromRelay, at: arrival(of: 0, fromRelay: fromRelay)) { $0?.endArrived() }
    }

    /// The end is closed. With a reset, the other end loses the bytes in transit.
    func closed(atRelay: Bool, isReset: Bool) {
        guard isOpen(atRelay: atRelay) else { return }
        if atRelay { isRelayOpen = false } else { isClientOpen = false }
        guard isReset, !hasNoMapping else { return }
        scheduler.schedule(after: path.conditions.delay) {
            self.path.pass(atRelay ? .down : .up) { self.end(atRelay: !atRelay)?.resetArrived() }
        }
    }
}
