import MartletLink
import MartletRelay
import MartletTestKit
import MartletWire

/// The faults of a run of ``ClientLives``.
final class LifeFaults: FaultyWorld, @unchecked Sendable {  // used by the thread that runs the world
    private let world: TestWorld
    private let ledger: Ledger
    private let relay: TestRelay
    private let applications: [LifeApplication]
    private let store: LifeStore
    private let policy: LifePolicy
    private let rooms: [RoomName]
    /// Called when the store is replaced by an earlier copy.
    private let onRestore: () -> Void

    init(
        _ world: TestWorld, _ ledger: Ledger, _ relay: TestRelay, _ applications: [LifeApplication],
        _ store: LifeStore, _ policy: LifePolicy, _ rooms: [RoomName], onRestore: @escaping () -> Void
    ) {
        self.world = world
        self.ledger = ledger
        self.relay = relay
        self.applications = applications
        self.store = store
        self.policy = policy
        self.rooms = rooms
        self.onRestore = onRestore
    }

    /// Causes faults, each after its pause and the end of the one before.
    func act(_ faults: [LifeScenario.PlannedFault], until end: Instant) async {
        for planned in faults where !Task.isCancelled {
            try? await world.sleep(for: min(planned.pause, end - ledger.now))
            guard ledger.now < end else { return }
            let timed = planned.fault
            ledger.note(0, "fault", timed.kind?.rawValue ?? 0)
            await begin(timed.fault, for: timed.lasts)
            if timed.lasts > .zero { try? await world.sleep(for: timed.lasts) }
            await self.end(timed.fault)
        }
    }

    func begin(_ fault: Fault, for time: Duration) async {
        switch fault {
        case .cut(let device): applications[device].device.cut()
        case .blackHole(let device, let direction): applications[device].device.blackHole(direction)
        case .dropNATMappings(let device): applications[device].device.dropNATMappings()
        case .switchNetwork(let number, let delay):
            let device = applications[number].device
            var conditions = device.conditions
            conditions.delay = delay
            device.switchNetwork(to: conditions)
        case .goOffline(let device): applications[device].device.goOffline()
        case .killRelay: await relay.kill()
        case .drainRelay: await relay.stop(within: .seconds(2))
        case .failStore(let part): store.failing = part
        case .failOutbox(let device): applications[device].weather.fails = true
        case .copyOrRestoreStore(let drains): await copyOrRestoreStore(drains: drains)
        case .refuse(let number, let room, let refusal, let isOffline):
            let application = applications[number]
            if isOffline {
                application.device.goOffline()
                try? await world.sleep(for: time)
            }
            await setRefusal(refusal, of: application, in: rooms[room])
            if isOffline { application.device.goOnline() }
        case .closeRoom(let room): try? await relay.relay?.close(room: rooms[room])
        case .stopReading, .replayHello, .crash, .trim, .loseLog, .loseUploads, .revoke, .stopRelay, .cutStore,
            .loseReports, .cutBus, .move:
            preconditionFailure("lives have no \(fault)")
        }
    }

    func end(_ fault: Fault) async {
        switch fault {
        case .blackHole(let device, _): applications[device].device.restore()
        case .goOffline(let device): applications[device].device.goOnline()
        case .killRelay, .drainRelay, .copyOrRestoreStore: restartRelay()
        case .failStore: store.failing = nil
        case .failOutbox(let device): applications[device].weather.fails = false
        case .refuse(let device, let room, _, _): await setRefusal(nil, of: applications[device], in: rooms[room])
        default: break
        }
    }

    private func setRefusal(_ refusal: Fault.Refusal?, of application: LifeApplication, in room: RoomName) async {
        let account = application.plan.account
        policy.refusals[room, default: [:]][account] = refusal
        await relay.relay?.revokeRoomDecisions(of: account, in: room)
    }

    /// Makes a backup, or replaces the store by the last one while the relay is down.
    private func copyOrRestoreStore(drains: Bool) async {
        guard store.hasCopy else { return store.makeCopy(firstLog: world.nextRandom()) }
        if drains { await relay.stop(within: .seconds(2)) } else { await relay.kill() }
        // Calls of the store that are in progress end.
        try? await world.sleep(for: .seconds(1))
        store.restore()
        for room in rooms { ledger.note(0, "the store is restored up to", UInt64(ledger.logs[room].count)) }
        onRestore()
    }

    private func restartRelay() {
        guard relay.relay == nil else { return }
        do { try relay.restart() } catch { ledger.fail(.errorsAreDocumented, "the relay does not start: \(error)") }
    }
}
