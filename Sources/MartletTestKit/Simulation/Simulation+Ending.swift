import MartletProtocol
import MartletWire

/// What has to hold when nothing goes wrong any more: everything arrives, everything works once more, and nothing is
/// left over.
extension Simulation {
    /// How long it is watched that calm is kept.
    static let calmDuration = Duration.seconds(600)
    /// How long it may take until nothing is under way; where frames are lost some are sent again now and then.
    private var quiescencePatience: Duration { .seconds(story.isReliable ? 65 : 180) }
    /// How long the relay may take to forget who has left: a link's lifetime, and some time for the last goodbye.
    static let leavingPatience = Duration.seconds(120)

    /// Waits until everything has arrived; returns how long that took.
    func settle() -> Duration {
        let began = world.now
        while !isDone, world.now - began < Simulation.patience, ledger.violations.isEmpty { run(for: .seconds(1)) }
        return world.now - began
    }

    /// A device that has nothing to say is forgotten on the way, and somebody else says something.
    func tellTheForgotten() {
        run(for: .seconds(60))
        world.forgetTranslations(of: devices[0].client)
        perform(.say(device: 1, room: 0, count: 1, byteCount: 10))
        _ = settle()
        ledger.look(at: world.relay.log, at: world.now)
        compare()
    }

    /// From here on every stream is to stay, and nothing is to be sent twice.
    func noteCalm() {
        calm = Calm(
            connectionCount: world.connectionCount, repeats: devices.map { $0.client.engine.counters.retransmissions })
    }

    /// Nothing goes wrong any more and nothing is left to do.
    func watchCalm() {
        guard story.isReliable, let calm else { return }
        for device in devices where world.openConnectionCount(of: device.client) > 1 {
            let count = world.openConnectionCount(of: device.client)
            ledger.fail(.onlyOneSpeaks, at: world.now, "device \(device.id) has \(count) connections")
        }
        run(for: Simulation.calmDuration)
        if world.connectionCount != calm.connectionCount {
            let count = world.connectionCount - calm.connectionCount
            ledger.fail(.calmIsKept, at: world.now, "\(count) connections anew")
        }
        for (device, before) in zip(devices, calm.repeats)
        where device.client.engine.counters.retransmissions != before {
            ledger.fail(.calmIsKept, at: world.now, "device \(device.id) sends again what has arrived")
        }
    }

    private var isDone: Bool {
        guard unhealed == 0, devices.allSatisfy({ !$0.hasUnsettled && !$0.hasUnsynced }) else { return false }
        return devices.allSatisfy { device in rooms.allSatisfy { missing($0, on: device) == nil } }
    }

    func compare() {
        for device in devices {
            if device.hasUnsettled {
                let detail = "device \(device.id): \(device.isSettled.count) of \(device.drafts.records.count) accepted"
                ledger.fail(.everythingArrives, at: world.now, detail)
            }
            for room in rooms {
                let missed = device.missed[room] ?? []
                let others = (world.relay.log[room] ?? []).filter { $0.device.rawValue != device.id }
                let expected = others.map(\.offset).filter { !missed.contains($0) }
                let shown = device.shownOffsets(room).filter { !missed.contains($0) }
                guard shown != expected else { continue }
                let detail = "device \(device.id) shows \(shown.count) of \(expected.count) in \(room)"
                ledger.fail(.everythingArrives, at: world.now, detail)
            }
        }
    }

    // MARK: Quiescence

    /// Waits until nothing is under way, and fails with what is left over when that never comes.
    func awaitQuiescence() {
        let began = world.now
        run(for: .seconds(60))
        var faults = leftOver()
        while !faults.isEmpty, world.now - began < quiescencePatience, holds {
            run(for: .seconds(1))
            faults = leftOver()
        }
        for fault in faults.prefix(4) { ledger.fail(.nothingIsLeftOver, at: world.now, fault) }
    }

    /// What both ends hold although nothing is under way, and where they disagree.
    private func leftOver() -> [String] {
        var faults = world.relay.loops.quiescence()
        for device in devices {
            faults += device.client.engine.quiescence().faults
            if !device.client.engine.status.isOnline { faults.append("device \(device.id) is not online") }
            guard let table = world.relay.loops.creditTable(of: device.key) else {
                faults.append("device \(device.id) has no link")
                continue
            }
            faults += device.client.engine.creditTable.differences(from: table).map { "device \(device.id), \($0)" }
        }
        if requests.openCount > 0 { faults.append("\(requests.openCount) requests without an outcome") }
        return faults
    }

    /// Everybody says goodbye: nothing is left of them.
    func leaveAll() {
        let first = devices[0]
        leave(first)
        run(for: .seconds(10))
        checkPresence(of: first.account, is: .left)
        for device in devices.dropFirst() { leave(device) }
        run(for: Simulation.leavingPatience)
        for device in devices {
            guard case .stopped(nil) = device.client.engine.status.state else {
                ledger.fail(.nothingIsLeftOver, at: world.now, "device \(device.id) does not stop")
                continue
            }
            if let deadline = device.client.engine.deadline {
                let time = deadline.nanoseconds / 1_000_000
                let detail = "device \(device.id) has stopped, and a timer at \(time) ms"
                ledger.fail(.nothingIsLeftOver, at: world.now, detail)
            }
        }
        let left = world.relay.loops.statistics
        if left.connections + left.links + left.suspendedLinks + left.rooms > 0 {
            let detail = "\(left.connections) connections, \(left.links) links, \(left.rooms) rooms when all have left"
            ledger.fail(.nothingIsLeftOver, at: world.now, detail)
        } else if let deadline = world.relay.loops.deadline {
            let time = deadline.nanoseconds / 1_000_000
            ledger.fail(.nothingIsLeftOver, at: world.now, "the relay has nothing, and a timer at \(time) ms")
        }
    }

    private func leave(_ device: SimulatedDevice) {
        device.hindranceCount += 1
        act(device) { $0.stop(now: $1) }
    }
}
