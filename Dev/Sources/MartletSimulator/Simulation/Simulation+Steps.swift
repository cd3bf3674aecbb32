import Martlet
import MartletLink
import MartletTestKit
import MartletWire

/// The actions of a scenario on devices, paths, the relay and its store.
extension Simulation {
    /// The method of all requests.
    static let method = MethodName("echo")!

    func perform(_ action: Scenario.Action) {
        switch action {
        case .publish(let number, let room, let count, let byteCount):
            let device = devices[number]
            guard device.isRunning else { return }
            for _ in 0..<count {
                let counter = device.publish(rooms[room], byteCount: byteCount)
                ledger.published(
                    Ledger.Key(device: device.id, counter: counter),
                    Ledger.Expectation(
                        room: rooms[room], byteCount: device.drafts.records.last?.byteCount ?? 0, at: wallClock))
            }
            syncLater(device)
        case .cut(let number): world.cut(devices[number].client)
        case .blackHole(let number, let direction, let time):
            world.blackHole(devices[number].client, direction)
            endFault(number, after: time) { $0.world.restore($0.devices[number].client) }
        case .dropNATMappings(let number): world.dropNATMappings(of: devices[number].client)
        case .switchPath(let number, let delay): switchPath(devices[number], delay)
        case .crash(let number, let time): crash(devices[number], downFor: time)
        case .restartRelay(let time):
            restartRelay(time)
        case .loseLog(let number, let time):
            restartRelay(time)
            world.relay.loseLog(of: rooms[number])
            ledger.removeRoom(rooms[number])
            members.removeRoom(rooms[number])
        case .failStore(let part, let time):
            setStore(part, fails: true)
            endFault(after: time) { $0.setStore(part, fails: false) }
        case .stopReading(let number, let time):
            world.stopReading(devices[number].client)
            endFault(number, after: time) { $0.world.startReading($0.devices[number].client) }
        case .stopTaking(let number, let time):
            devices[number].isTaking = false
            endFault(number, after: time) { simulation in
                simulation.devices[number].isTaking = true
                simulation.recordTaken(on: simulation.devices[number])
                simulation.devices[number].take(in: simulation.world)
            }
        case .suspend(let number, let room, let time): suspend(devices[number], rooms[room], time)
        case .background(let number, let time):
            act(devices[number]) { $0.enterBackground(now: $1) }
            endFault(number, after: time) { $0.act($0.devices[number]) { $0.enterForeground(now: $1) } }
        case .stop(let number, let time):
            act(devices[number]) { $0.stop(now: $1) }
            endFault(number, after: time) { $0.act($0.devices[number]) { $0.start(now: $1) } }
        case .retryNow(let number): act(devices[number]) { $0.retryNow(now: $1) }
        case .trim(let number, let keeps):
            let end = UInt64(world.relay.log[rooms[number]]?.count ?? 0) + 1
            world.relay.trim(rooms[number], before: end - min(end - 1, UInt64(keeps)))
        case .replayHello(let number):
            let device = devices[number]
            guard world.replayHello(of: device.client) else { return }
            ledger.fail(.tokensResumeOnce, at: world.now, "device \(device.id)'s link was resumed by another")
        case .read(let number, let room): read(devices[number], rooms[room])
        case .type(let number, let room): type(devices[number], rooms[room])
        case .request(let number, let other, let room, let byteCount, let timeout):
            sendRequest(devices[number], other.map { devices[$0] }, rooms[room], byteCount, timeout)
        case .cancelRequest(let number): cancelRequest(of: devices[number])
        case .close(let number, let room, let time):
            let device = devices[number]
            requests.closed(rooms[room], by: device.id, start: device.startCount)
            device.close(rooms[room], in: world)
            endFault(number, after: time) { simulation in
                device.open(simulation.rooms[room], in: simulation.world)
                device.sendDrafts(in: simulation.world)
            }
        case .revoke(let number, let time): revoke(devices[number].account, time)
        case .upload(let number, let room, let byteCount, let content):
            upload(devices[number], rooms[room], byteCount, number: content)
        case .download(let number, let room, let which): download(devices[number], rooms[room], number: which)
        case .cancelTransfer(let number): cancelTransfer(of: devices[number])
        case .loseUploads(let byteCount, let time):
            restartRelay(time)
            world.relay.attachments.loseEnds(byteCount: byteCount)
        case .operate(let operation, let room): operate(operation, in: rooms[room])
        case .readHistory(let number, let room, let direction, let place):
            readHistory(devices[number], rooms[room], direction, place: place)
        }
    }

    // MARK: - Users and operators

    func read(_ device: SimulatedDevice, _ room: RoomName) {
        let offset = device.lastDelivered(room)
        guard device.isRunning, offset > 0, let id = device.rooms[room] else { return }
        members.read(device.account, room, upTo: offset)
        act(device) { $0.markRead(id, upTo: offset, now: $1) }
    }

    func type(_ device: SimulatedDevice, _ room: RoomName) {
        guard device.isRunning, let id = device.rooms[room] else { return }
        members.typed(device.account, room)
        act(device) { engine, now in
            engine.setTyping(true, in: id, now: now)
            engine.setTyping(false, in: id, now: now)
        }
    }

    func sendRequest(
        _ device: SimulatedDevice, _ other: SimulatedDevice?, _ room: RoomName, _ byteCount: Int, _ timeout: Duration
    ) {
        guard device.isRunning, let id = device.rooms[room] else { return }
        let text = requests.makeText(byteCount: byteCount)
        let deadline = world.now + timeout
        // The outcome may occur in this call.
        world.act(device.client) { engine, now in
            guard
                let number = try? engine.request(
                    Simulation.method, content: Message.textContent(text), to: other?.account, in: id,
                    deadline: timeout, now: now)
            else { return }
            let key = RequestLedger.Key(device: device.id, start: device.startCount, number: number)
            requests.sent(key, in: room, text: text, deadline: deadline)
        }
    }

    private func cancelRequest(of device: SimulatedDevice) {
        guard device.isRunning, let number = requests.openNumbers(of: device.id, start: device.startCount).last
        else { return }
        requests.cancelled(RequestLedger.Key(device: device.id, start: device.startCount, number: number))
        act(device) { $0.cancelRequest(number, now: $1) }
    }

    /// Revokes the account and restarts its devices when it is readmitted.
    private func revoke(_ account: AccountName, _ time: Duration) {
        world.revoke(account)
        let own = devices.filter { $0.account == account }
        for device in own {
            device.linkAtRelay = nil
            endFault(device.number, after: time) { simulation in
                simulation.world.readmit(account)
                simulation.act(device) { $0.start(now: $1) }
            }
        }
    }

    // MARK: - Faults

    /// Schedules the end of a fault. Until then it hinders the device, or all devices for nil.
    func endFault(_ number: Int? = nil, after time: Duration, _ body: @escaping (Simulation) -> Void) {
        activeFaultCount += 1
        count(1, number)
        world.after(time) { [unowned self] in
            activeFaultCount -= 1
            count(-1, number)
            body(self)
        }
    }

    private func count(_ change: Int, _ number: Int?) {
        if let number { devices[number].activeFaultCount += change } else { globalFaultCount += change }
    }

    func act(_ device: SimulatedDevice, _ event: (inout ClientEngine, Instant) -> Void) {
        if device.isRunning { world.act(device.client, event) }
    }

    private func crash(_ device: SimulatedDevice, downFor time: Duration) {
        guard device.isRunning else { return }
        trace.note(world.now, device: device.number, "crashes")
        requests.removeDevice(device.id)
        let transfers = attachments.removeDevice(device.id)
        roles?.removeDevice(device.id)
        members.removeDevice(device.id)
        for draft in device.crash(&random, in: world) {
            ledger.removed(Ledger.Key(device: device.id, counter: draft.counter))
        }
        endFault(device.number, after: time) { simulation in
            simulation.devices[device.number].start(in: simulation.world)
            for work in transfers { simulation.begin(work, on: device) }
        }
    }

    private func suspend(_ device: SimulatedDevice, _ room: RoomName, _ time: Duration) {
        guard let id = device.rooms[room] else { return }
        act(device) { $0.suspend(id, now: $1) }
        endFault(device.number, after: time) { simulation in
            guard let id = device.rooms[room] else { return }
            simulation.act(device) { $0.resume(id, now: $1) }
        }
    }

    private func switchPath(_ device: SimulatedDevice, _ delay: Duration) {
        var conditions = device.client.conditions
        conditions.delay = delay
        let network = NetworkID(rawValue: random.next())
        let address = "10.0.\(random.next() % 256).\(random.next() % 256)"
        let status = PathStatus(isUp: true, kind: .wifi, network: network, addresses: [address])
        world.switchPath(of: device.client, to: conditions, status)
    }

    private func restartRelay(_ time: Duration) {
        world.restartRelay(downFor: time)
        restoreRolePolicy()
        for device in devices { device.linkAtRelay = nil }
    }

    private func setStore(_ part: Scenario.StorePart, fails: Bool) {
        switch part {
        case .append: world.relay.refusesAppends = fails
        case .appendHalf: world.relay.refusesHalves = fails
        case .load: world.relay.refusesLoads = fails
        case .read: world.relay.refusesReads = fails
        case .attachments: world.relay.attachments.refusesCalls = fails
        }
    }
}
