import MartletLink
import MartletTransport
import MartletWire
import Synchronization

/// The connection of a relay's loops to the bus. It numbers the datagrams of all loops, authenticates them if the store
/// has a key, and passes each received item to the loop of its room.
final class RelayBusPort: Sendable {
    /// The program in beats.
    private static let agent = "martlet-relay/1.0"

    private let bus: any RelayBus
    private let parts: RelayParts
    private let name: String
    private let authenticator: BusAuthenticator?
    /// The maximum number of bytes of a datagram without a code.
    let maxDatagramByteCount: Int
    private struct State: Sendable {
        var peers: BusPeers
        var drivers: [RelayDriver] = []
        /// The links and rooms of each loop at its last beat.
        var counts: [(links: Int, rooms: Int)] = []
    }

    private let state: Guarded<State>

    /// - Parameter key: The key of the store; nil if datagrams are not authenticated.
    init(_ bus: any RelayBus, _ parts: RelayParts, name: String, id: RelayID, key: [UInt8]?) {
        self.bus = bus
        self.parts = parts
        self.name = name
        authenticator = key.map { BusAuthenticator(key: $0) }
        let codeByteCount = key == nil ? 0 : BusAuthenticator.codeByteCount
        maxDatagramByteCount = bus.maxDatagramByteCount - codeByteCount
        state = Guarded(State(peers: BusPeers(id: id, maxDatagramByteCount: maxDatagramByteCount)))
    }

    func start(_ drivers: [RelayDriver]) {
        state.withLock {
            $0.drivers = drivers
            $0.counts = Array(repeating: (0, 0), count: drivers.count)
        }
        bus.start { [weak self] bytes in self?.received(bytes) }
    }

    /// Sends the last beat, by which other relays take the members away at once.
    func stop() async {
        state.withLock { state in
            guard let loop = state.drivers.first?.loop else { return }
            state.peers.end(overview(state, loop))
            sendItems(&state)
            // A later datagram would revoke the last beat.
            state.drivers = []
        }
        await bus.stop()
    }

    /// The relays of the store, this one first.
    func relays() -> [PeerRelay] {
        state.withLock { state in
            guard let loop = state.drivers.first?.loop else { return [] }
            let now = Instant(nanoseconds: loop.currentTime)
            return [overview(state, loop)] + state.peers.relays(now: now, wallClock: EventLoop.wallClock)
        }
    }

    private func overview(_ state: State, _ loop: EventLoop) -> PeerRelay {
        PeerRelay(
            relay: state.peers.id, name: name, agent: Self.agent,
            linkCount: UInt32(clamping: state.counts.reduce(0) { $0 + $1.links }),
            roomCount: UInt32(clamping: state.counts.reduce(0) { $0 + $1.rooms }),
            isDraining: parts.isDraining.load(ordering: .relaxed), relayClock: EventLoop.wallClock)
    }

    // MARK: - Outgoing

    /// Sends the items of a loop.
    func send(_ messages: [BusMessage], hasLost: Bool) {
        state.withLock { state in
            guard !state.drivers.isEmpty else { return }
            state.peers.append(messages)
            sendItems(&state, hasLost: hasLost)
        }
    }

    /// Performs a command at one of the other relays, or at all.
    func perform(_ command: BusCommand, at relay: RelayID?, now: Instant) {
        state.withLock { state in
            guard !state.drivers.isEmpty else { return }
            state.peers.perform(command, at: relay, now: now)
            sendItems(&state)
        }
    }

    /// A beat of a loop is due. The first loop sends it.
    func beat(_ driver: RelayDriver, links: Int, rooms: Int) {
        state.withLock { state in
            guard let index = state.drivers.firstIndex(where: { $0 === driver }) else { return }
            state.counts[index] = (links, rooms)
            guard index == 0 else { return }
            let overview = overview(state, driver.loop)
            pass(state.peers.beat(overview, now: driver.now), state)
            sendItems(&state)
        }
    }

    /// Sends a beat at once, because the relay drains: it may end before the next one is due.
    func announceDrain() {
        state.withLock { state in
            guard let loop = state.drivers.first?.loop else { return }
            pass(state.peers.beat(overview(state, loop), now: Instant(nanoseconds: loop.currentTime)), state)
            sendItems(&state)
        }
    }

    /// Sends the items so far. The bus is called under the lock, so that the datagrams arrive in their order.
    private func sendItems(_ state: inout State, hasLost: Bool = false) {
        let datagrams = state.peers.takeDatagrams(hasLost: hasLost)
        guard !datagrams.isEmpty else { return }
        bus.send(authenticator.map { datagrams.map($0.seal) } ?? datagrams)
    }

    // MARK: - Incoming

    /// Events are passed under the lock, so that each loop receives them in their order.
    private func received(_ bytes: [UInt8]) {
        let datagram = Result { () throws(BusFault) in try authenticator?.open(bytes) ?? bytes }
        state.withLock { state in
            guard let loop = state.drivers.first?.loop else { return }
            let now = Instant(nanoseconds: loop.currentTime)
            switch datagram {
            case .success(let datagram): pass(state.peers.receive(datagram.rawBytes, now: now), state)
            case .failure(let fault): pass(state.peers.refuse(nil, fault), state)
            }
            sendItems(&state)
        }
    }

    /// Whether the relay takes an item. Without a key, whoever may send on the bus could have it store messages of any
    /// account.
    func takes(_ item: BusItem) -> Bool {
        if case .forwarded = item { authenticator != nil } else { true }
    }

    private func pass(_ events: [BusPeers.Event], _ state: State) {
        var received: [Int: [BusPeers.Event]] = [:]
        let place = LoopPlace(index: 0, count: state.drivers.count)
        for event in events {
            switch event {
            case .item(let item, _, _) where !takes(item): break
            case .incomplete, .lost, .item:
                for loop in state.drivers.indices where event.concerns(loop, place) {
                    received[loop, default: []].append(event)
                }
            case .command(let command, let relay): perform(command, from: relay, state)
            case .nameShared(let relay): parts.onEvent(.busNameShared(relay))
            case .fault(let relay, let fault): parts.onEvent(.busFaulted(relay, fault))
            }
        }
        for (loop, events) in received {
            let driver = state.drivers[loop]
            driver.loop.execute { driver.busReceived(events) }
        }
    }

    /// Performs a command of another relay.
    private func perform(_ command: BusCommand, from relay: String, _ state: State) {
        state.drivers.first?.loop.startTask { [parts, name] in
            guard let own = parts.relay.withLock(\.relay) else { return }
            switch command {
            case .kick(let account):
                await own.endLinks(of: account)
                parts.onEvent(.kicked(account, by: relay))
            case .revoke(let account): await own.revokeHere(account)
            case .drain(name):
                parts.onEvent(.drainRequested(by: relay))
                await own.drain(within: parts.configuration.drainTimeout)
            case .drain: break
            }
        }
    }
}
