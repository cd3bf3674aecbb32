import MartletProtocol
import MartletTransport
import MartletWire

/// Owns a relay's engine on one loop, tells it what happens, and does what it wants done.
///
/// Events (bytes, an answer of the store, a deadline) go into the engine at once. What the engine wants is done at
/// the end of the loop's turn, so that all that one turn brought makes one append a room and one write a connection.
/// A turn reads of each connection as much as `TurnBudget` says, and of those with
/// input that waits, of one.
///
/// `@unchecked Sendable`: everything here belongs to the loop, which `enter` checks in debug builds; other threads
/// only hold the reference and hand work over with `loop.execute`.
final class RelayDriver: TurnEndHandler, @unchecked Sendable {
    /// Bytes of input that wait to be read on, beyond which each read of a socket is a small one.
    static let maxUnreadByteCount = 4 << 20
    /// Bytes of such a read.
    static let smallReadByteCount = 4 << 10

    let loop: EventLoop
    let parts: RelayParts
    var engine: RelayEngine
    private(set) var peers = PeerTable()
    /// All of the relay's loops in their order, while it runs; what is on its way to each; and who waits for that.
    private(set) var siblings: [RelayDriver] = []
    var traffic: [LoopTraffic] = []
    var heldUp: [ConnectionKey] = []
    private(set) var isClosing = false
    /// Calls of the store that have not answered; a relay is not shut down before they have.
    var storeCalls = 0
    var authentications = 0
    /// Authentications begun since the start, and how many had been when an account was revoked.
    var authenticationsBegun: UInt64 = 0
    var revokedAt: [AccountName: UInt64] = [:]
    var requests = 0
    /// Connections that have given bytes since it was last noted what the kernel refused of them.
    private var filled: [ConnectionKey] = []
    private var isTurnEndPending = false
    private lazy var timer = LoopTimer(on: loop) { [weak self] in self?.deadlinePassed() }
    private var whenIdle: [IdleWaiter] = []
    private var heapTrim: HeapTrim

    init(_ parts: RelayParts, on loop: EventLoop, place: LoopPlace) {
        self.parts = parts
        self.loop = loop
        heapTrim = HeapTrim(budget: parts.configuration.engine.memoryBudget / place.count)
        var random = SystemRandomNumberGenerator()
        engine = RelayEngine(configuration: parts.configuration.engine, seed: random.next(), place: place)
    }

    /// Before anything happens, and with none when all is over.
    func join(_ siblings: [RelayDriver]) {
        self.siblings = siblings
        traffic = Array(repeating: LoopTraffic(), count: siblings.count)
    }

    var now: Instant { Instant(nanoseconds: loop.now) }

    // MARK: Turns

    /// Begins every event: the first of a turn sets the engine's wall clock and asks for the turn's end.
    @discardableResult
    func enter() -> Instant {
        if !isTurnEndPending {
            loop.preconditionOnLoop()
            isTurnEndPending = true
            engine.wallClock = EventLoop.wallClock
            loop.onTurnEnd(self)
        }
        return now
    }

    func loopTurnWillEnd() {
        noteUnsent()
        performOutputs()
        isTurnEndPending = false
        trimHeap()
        let isMuchUnread = engine.unreadByteCount > Self.maxUnreadByteCount
        loop.readByteCount = isMuchUnread ? Self.smallReadByteCount : EventLoop.readBufferByteCount
        var deadline = engine.deadline
        if let trim = heapTrim.deadline { deadline = min(deadline ?? trim, trim) }
        timer.set(deadline: deadline?.nanoseconds)
        settleIdleWaiters()
    }

    private func performOutputs() {
        let now = now
        while let output = engine.nextOutput(now: now) { perform(output, now: now) }
    }

    private func deadlinePassed() {
        engine.deadlinePassed(now: enter())
    }

    private func trimHeap() {
        guard heapTrim.isDue(engine.memoryByteCount, now: now) else { return }
        Task.detached(priority: .background) { SystemHeap.trim() }
    }

    // MARK: Connections

    func accept(_ transport: any Transport) {
        // A connection that is too many is dropped here and so closed (C-11).
        guard let key = engine.accepted(.reliable, now: enter()) else { return }
        start(transport, key)
    }

    func start(_ transport: any Transport, _ key: ConnectionKey) {
        let peer = PeerConnection(key, on: transport, of: self)
        peers.insert(peer)
        transport.start(peer)
    }

    /// The connection is another loop's from now on.
    func release(_ peer: PeerConnection) {
        peers.remove(peer)
    }

    func received(_ bytes: RawSpan, on key: ConnectionKey) {
        engine.receive(bytes, on: key, now: enter())
        if traffic.contains(where: \.isFull) { holdUp(key) }
    }

    /// The bytes change what the engine waits for, so where they are asked for later the turn's end comes once more.
    func fill(_ buffer: inout OutputRawSpan, on key: ConnectionKey) -> Bool {
        if filled.last != key { filled.append(key) }
        return engine.transmit(on: key, into: &buffer, now: enter())
    }

    /// What the kernel refused of the connections that have given bytes counts in the engine's budget.
    func noteUnsent() {
        for key in filled { engine.noteUnsent(peers[key]?.transport.unsentByteCount ?? 0, on: key) }
        filled.removeAll(keepingCapacity: true)
    }

    func ended(_ key: ConnectionKey) {
        engine.endOfStream(key, now: enter())
    }

    func closed(_ peer: PeerConnection) {
        peer.authentication?.cancel()
        peers.remove(peer)
        engine.closed(peer.key, now: enter())
    }

    // MARK: The operator

    func drain(_ notice: Notice) {
        engine.drain(retryAfter: notice.retryAfter, redirect: notice.redirect, now: enter())
    }

    func revoke(_ account: AccountName) {
        if authentications > 0 { revokedAt[account] = authenticationsBegun }
        engine.revoke(account, now: enter())
    }

    /// Whether an account was revoked while the authenticator made up its mind (C-28).
    func wasRevoked(_ account: AccountName, sinceAuthentication number: UInt64) -> Bool {
        revokedAt[account].map { number <= $0 } ?? false
    }

    /// Ends every connection without a word.
    func closeAll() {
        enter()
        isClosing = true
        peers.forEach { $0.transport.abort() }
    }

    // MARK: Waiting for the end

    /// Whether nobody is connected and nothing is with the store.
    var isIdle: Bool { peers.isEmpty && storeCalls == 0 }

    /// Resumes with true when there is nothing left to wait for, with false when the end, on the loop's clock, comes
    /// first.
    func waitUntilIdle(until end: UInt64?, _ continuation: CheckedContinuation<Bool, Never>) {
        enter()
        let waiter = IdleWaiter(continuation)
        whenIdle.append(waiter)
        guard let end else { return }
        waiter.timer = LoopTimer(on: loop) { [weak self] in
            self?.whenIdle.removeAll { $0 === waiter }
            waiter.finish(false)
        }
        waiter.timer?.set(deadline: end)
    }

    private func settleIdleWaiters() {
        guard isIdle, !whenIdle.isEmpty else { return }
        for waiter in whenIdle { waiter.finish(true) }
        whenIdle = []
    }
}

/// Who waits for a driver to be idle, and until when.
private final class IdleWaiter {
    private let continuation: CheckedContinuation<Bool, Never>
    var timer: LoopTimer?

    init(_ continuation: CheckedContinuation<Bool, Never>) {
        self.continuation = continuation
    }

    func finish(_ isIdle: Bool) {
        timer?.set(deadline: nil)
        timer = nil
        continuation.resume(returning: isIdle)
    }
}
