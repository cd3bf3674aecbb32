import Martlet
import MartletLink
import MartletTestKit
import MartletWire

/// The faults of a ``Simulation``, and the devices that they hinder.
final class SimulatedFaults: FaultyWorld {
    /// The kinds of faults of a simulation. Attachments have others.
    static let kinds: [Fault.Kind] = [
        .cut, .blackHole, .dropNATMappings, .switchNetwork, .goOffline, .stopReading, .replayHello, .crash, .killRelay,
        .failStore, .failOutbox, .trim, .loseLog, .revoke,
    ]

    private let world: VirtualWorld
    private let devices: [SimulatedDevice]
    private let rooms: [RoomName]
    private let ledger: Ledger
    private var random: SeededRandom
    /// Called for a process that has crashed. The result is called when the next process has started.
    var onCrash: (SimulatedDevice) -> () -> Void = { _ in {} }
    /// Removes the log of a room from the store.
    var loseLog: (RoomName) -> Void = { _ in }
    /// Called for each process of the relay.
    var onRelayStart: () -> Void = {}
    /// All active faults.
    private(set) var activeCount = 0
    /// Active faults that hinder all devices.
    private var globalCount = 0

    init(_ world: VirtualWorld, _ devices: [SimulatedDevice], _ rooms: [RoomName], _ ledger: Ledger, seed: UInt64) {
        self.world = world
        self.devices = devices
        self.rooms = rooms
        self.ledger = ledger
        random = SeededRandom(seed: seed)
    }

    func isHindering(_ device: SimulatedDevice) -> Bool { globalCount > 0 || device.activeFaultCount > 0 }

    /// Begins a fault that ends after its time.
    func act(_ timed: TimedFault) {
        begin(timed.fault, for: timed.lasts)
        guard timed.lasts > .zero else { return }
        switch timed.fault {
        case .killRelay, .loseLog, .loseUploads: break
        case .failStore, .stopRelay, .cutStore, .loseReports, .cutBus:
            hinder(nil, for: timed.lasts) { [unowned self] in end(timed.fault) }
        case .revoke(let number):
            for device in devices where device.account == devices[number].account {
                hinder(device, for: timed.lasts) { [unowned self] in end(.revoke(device: device.number)) }
            }
        case .blackHole(let device, _), .goOffline(let device), .stopReading(let device), .failOutbox(let device):
            hinder(devices[device], for: timed.lasts) { [unowned self] in end(timed.fault) }
        default: break
        }
    }

    /// Hinders a device, or all devices for nil, until `body` is called after a time.
    func hinder(_ device: SimulatedDevice?, for time: Duration, until body: @escaping () -> Void) {
        count(1, device)
        world.after(time) { [unowned self] in
            count(-1, device)
            body()
        }
    }

    private func count(_ change: Int, _ device: SimulatedDevice?) {
        activeCount += change
        if let device { device.activeFaultCount += change } else { globalCount += change }
    }

    // MARK: - Effects

    func begin(_ fault: Fault, for time: Duration) {
        switch fault {
        case .cut(let device): world.cut(devices[device].client)
        case .blackHole(let device, let direction): world.blackHole(devices[device].client, direction)
        case .dropNATMappings(let device): world.dropNATMappings(of: devices[device].client)
        case .switchNetwork(let device, let delay): switchNetwork(devices[device], delay)
        case .goOffline(let device):
            world.blackHole(devices[device].client)
            act(devices[device]) { $0.handle(.pathChanged(to: .down), now: $1) }
        case .stopReading(let device): world.stopReading(devices[device].client)
        case .replayHello(let number):
            guard world.replayHello(of: devices[number].client) else { return }
            ledger.fail(.tokensResumeOnce, "device \(devices[number].id)'s link was resumed by another")
        case .crash(let device): crash(devices[device], downFor: time)
        case .killRelay: restartRelay(randomRelay(), time)
        case .failStore(let part): setStore(part, fails: true)
        case .failOutbox(let device): devices[device].failsSyncs = true
        case .trim(let number, let keeps):
            let end = UInt64(world.store.log[rooms[number]]?.count ?? 0) + 1
            world.store.trim(rooms[number], before: end - min(end - 1, UInt64(keeps)))
        case .loseLog(let room):
            // No relay may run meanwhile: a read of the store does not name its log.
            for number in world.relays.indices { restartRelay(number, time) }
            loseLog(rooms[room])
        case .loseUploads(let byteCount):
            restartRelay(randomRelay(), time)
            world.store.attachments.loseEnds(byteCount: byteCount)
        case .revoke(let number):
            world.revoke(devices[number].account)
            for device in devices where device.account == devices[number].account { device.linkAtRelay = nil }
        case .stopRelay(let number): world.stop(number)
        case .cutStore(let relay, let cut): for number in numbers(of: relay) { world.storePath?.cut(number, cut) }
        case .loseReports(let relay): for number in numbers(of: relay) { world.storePath?.setDeaf(number, true) }
        case .cutBus(let one, let other): world.bus?.setCut(one, other, true)
        case .move(let device):
            world.reroute(devices[device].client)
            world.cut(devices[device].client)
        case .drainRelay, .copyOrRestoreStore, .refuse, .closeRoom: preconditionFailure("a simulation has no \(fault)")
        }
    }

    func end(_ fault: Fault) {
        switch fault {
        case .blackHole(let device, _): world.restore(devices[device].client)
        case .goOffline(let number):
            world.restore(devices[number].client)
            switchNetwork(devices[number], devices[number].client.conditions.delay)
        case .stopReading(let device): world.startReading(devices[device].client)
        case .failStore(let part): setStore(part, fails: false)
        case .failOutbox(let device): devices[device].failsSyncs = false
        case .revoke(let number):
            world.readmit(devices[number].account)
            act(devices[number]) { $0.handle(.start, now: $1) }
        case .stopRelay(let number): world.resume(number)
        case .cutStore(let relay, _): for number in numbers(of: relay) { world.storePath?.restore(number) }
        case .loseReports(let relay): for number in numbers(of: relay) { world.storePath?.setDeaf(number, false) }
        case .cutBus(let one, let other): world.bus?.setCut(one, other, false)
        default: break
        }
    }

    /// One relay, or all of them for nil.
    private func numbers(of relay: Int?) -> Range<Int> { relay.map { $0..<$0 + 1 } ?? world.relays.indices }

    private func act(_ device: SimulatedDevice, _ event: (inout ClientEngine, Instant) -> Void) {
        if device.isRunning { world.act(device.client, event) }
    }

    private func crash(_ device: SimulatedDevice, downFor time: Duration) {
        guard device.isRunning else { return }
        ledger.note(device.number, "crashes")
        let restart = onCrash(device)
        for text in device.crash(&random, in: world) { ledger.set(text, .isNotStored) }
        hinder(device, for: time) { [unowned self] in
            device.start(in: world)
            restart()
        }
    }

    private func switchNetwork(_ device: SimulatedDevice, _ delay: Duration) {
        var conditions = device.client.conditions
        conditions.delay = delay
        let network = NetworkID(rawValue: random.next())
        let address = "10.0.\(random.next() % 256).\(random.next() % 256)"
        let status = PathStatus(isUp: true, kind: .wifi, network: network, addresses: [address])
        world.switchPath(of: device.client, to: conditions, status)
    }

    private func randomRelay() -> Int { world.relays.count == 1 ? 0 : random.below(world.relays.count) }

    private func restartRelay(_ number: Int, _ time: Duration) {
        world.restartRelay(number, downFor: time)
        for device in devices { device.linkAtRelay = nil }
        onRelayStart()
    }

    private func setStore(_ part: Fault.StorePart, fails: Bool) {
        switch part {
        case .append: world.store.refusesAppends = fails
        case .appendHalf: world.store.refusesHalves = fails
        case .load: world.store.refusesLoads = fails
        case .read: world.store.refusesReads = fails
        case .attachments: world.store.attachments.refusesCalls = fails
        }
    }
}
