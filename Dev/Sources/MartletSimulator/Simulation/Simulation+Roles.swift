import Martlet
import MartletLink
import MartletRelay
import MartletWire

/// Operations on rooms with roles, and the checks of their effects.
extension Simulation {
    /// The timeout of an operation.
    private static let operationTimeout = Duration.seconds(20)
    /// The maximum time until a device opens a room again that it was removed from.
    private static let reopenDelay = Duration.seconds(5)
    /// The maximum time until all roles are removed.
    private static let rolesTimeout = Duration.seconds(3600)

    /// The device whose account administers all rooms.
    private var administrator: SimulatedDevice { devices[0] }

    /// The relay's wall clock in milliseconds since 1970.
    var wallClock: UInt64 { world.wallClock }

    /// A room policy that permits the first device's account to administer all rooms.
    func administered(
        _ policy: @escaping (RoomAuthorizationRequest) -> RoomDecision?
    ) -> (RoomAuthorizationRequest) -> RoomDecision? {
        let account = administrator.account
        return { request in
            let decision = policy(request)
            guard request.identity.account == account, case .granted(let permissions, let validity) = decision else {
                return decision
            }
            return .granted(permissions.union(.administer), validFor: validity)
        }
    }

    /// Requests an operation.
    func operate(_ operation: RoomOperation, in room: RoomName) {
        let device = administrator
        guard device.isRunning, let id = device.rooms[room] else { return }
        world.act(device.client) { engine, now in
            guard
                let number = try? engine.request(
                    operation.method.name, content: operation.content, to: nil, in: id,
                    deadline: Simulation.operationTimeout, now: now)
            else { return }
            let key = RequestLedger.Key(device: device.id, start: device.startCount, number: number)
            roles?.sent(key, operation, in: room, at: wallClock)
        }
    }

    /// The outcome of an operation; false for another request.
    func operationEnded(_ key: RequestLedger.Key, _ outcome: RequestOutcome) -> Bool {
        guard let (isDone, fault) = roles?.ended(key, outcome) else { return false }
        if isDone { operationCount += 1 }
        if let fault { ledger.fail(.rolesAreEnforced, at: world.now, fault) }
        return true
    }

    /// The store has saved roles.
    func rolesSaved(_ room: RoomName, _ bytes: [UInt8]) {
        if roles?.saved(bytes, of: room, at: wallClock) == false {
            ledger.fail(.rolesAreEnforced, at: world.now, "the saved roles of \(room) cannot be decoded")
        }
    }

    /// Whether the relay may refuse a message that a device published at a time.
    func mayRefuse(_ counter: UInt64, of device: SimulatedDevice, in room: RoomName) -> Bool {
        let key = Ledger.Key(device: device.id, counter: counter)
        guard let roles, let published = ledger.published[key] else { return false }
        return roles.wasSilenced(device.account, in: room, since: published.at)
    }

    /// Handles the permanent end of a device's session by the relay. The device opens the room again after a delay.
    func removed(_ device: SimulatedDevice, from room: RoomName, _ code: ErrorCode?) {
        guard roles?.mayExpel(device.account, from: room, code) == true else {
            return ledger.fail(
                .noMessageFails, at: world.now, "\(room) is closed to device \(device.id): \(String(describing: code))")
        }
        trace.note(world.now, device: device.number, "is removed")
        requests.closed(room, by: device.id, start: device.startCount)
        device.removed(from: room)
        let milliseconds = Simulation.reopenDelay.nanoseconds / 1_000_000
        endFault(device.number, after: .milliseconds(random.next() % UInt64(milliseconds))) { simulation in
            device.open(room, in: simulation.world)
            device.sendDrafts(in: simulation.world)
        }
    }

    /// Removes all roles, so that all messages can arrive. A last operation on the session of each room follows all
    /// earlier ones, so its outcome shows that no earlier operation is in flight.
    func settleRoles() {
        guard scenario.usesRoles else { return }
        let start = world.now
        var isClean = false
        while !isClean, holds {
            guard world.now - start < Simulation.rolesTimeout else {
                return ledger.fail(.progressIsMade, at: world.now, "roles are not removed")
            }
            let before = operationCount
            var sentCount = 0
            for room in rooms where roles?.roles(of: room) != nil {
                for operation in removals(in: room) + [.setAccess(.open)] {
                    operate(operation, in: room)
                    sentCount += 1
                }
            }
            run(for: Simulation.operationTimeout + .seconds(1))
            isClean = operationCount - before >= sentCount && rooms.allSatisfy { removals(in: $0).isEmpty }
        }
    }

    /// The operations that remove all restrictions of accounts.
    private func removals(in room: RoomName) -> [RoomOperation] {
        guard let roles = roles?.roles(of: room) else { return [] }
        return roles.standings(after: nil, maxCount: .max).flatMap { standing -> [RoomOperation] in
            var operations: [RoomOperation] = []
            if standing.isBanned { operations.append(.unban(standing.account)) }
            if standing.mutedUntil > wallClock { operations.append(.unmute(standing.account)) }
            if standing.role == .reader { operations.append(.setRole(nil, of: standing.account)) }
            return operations
        } + (roles.access == .open ? [] : [.setAccess(.open)])
    }
}
