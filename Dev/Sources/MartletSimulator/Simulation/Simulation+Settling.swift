import Martlet
import MartletLink
import MartletRelay
import MartletWire

/// The checks without faults: everything arrives, all functions work again, and no state is left over.
extension Simulation {
    /// The time for which idle links are observed.
    static let idleDuration = Duration.seconds(600)
    /// The maximum time until nothing is in transit. On an unordered carrier retransmissions take longer.
    private var quiescenceTimeout: Duration { .seconds(scenario.isReliable ? 65 : 180) }
    /// The maximum time until the relay has removed all links after goodbye: a link's lifetime and a margin.
    static let leaveTimeout = Duration.seconds(120)

    /// Waits until everything has arrived and returns the time that it took.
    func settle() -> Duration {
        let start = world.now
        while !isDone, world.now - start < Simulation.settleTimeout, holds { run(for: .seconds(1)) }
        return world.now - start
    }

    /// Drops the NAT mappings of an idle device before another device publishes.
    func publishAfterMappingLoss() {
        run(for: .seconds(60))
        world.dropNATMappings(of: devices[0].client)
        perform(.publish(device: 1, room: 0, count: 1, byteCount: 10))
        _ = settle()
        checkLog()
        compare()
    }

    /// Records the counters that must not change while the links are idle.
    func recordBaseline() {
        baseline = IdleBaseline(
            connectionCount: world.connectionCount,
            retransmissions: devices.map { $0.client.engine.counters.retransmissions })
    }

    /// Checks that idle links stay connected and retransmit nothing.
    func checkIdle() {
        guard scenario.isReliable, let baseline else { return }
        for device in devices where world.openConnectionCount(of: device.client) > 1 {
            let count = world.openConnectionCount(of: device.client)
            ledger.fail(.oneConnectionPerDevice, at: world.now, "device \(device.id) has \(count) connections")
        }
        run(for: Simulation.idleDuration)
        if world.connectionCount != baseline.connectionCount {
            let count = world.connectionCount - baseline.connectionCount
            ledger.fail(.idleLinksStayIdle, at: world.now, "\(count) new connections")
        }
        for (device, before) in zip(devices, baseline.retransmissions)
        where device.client.engine.counters.retransmissions != before {
            ledger.fail(.idleLinksStayIdle, at: world.now, "device \(device.id) retransmits acknowledged frames")
        }
    }

    private var isDone: Bool {
        guard activeFaultCount == 0, attachments.openCount == 0,
            devices.allSatisfy({ !$0.hasUnsettled && !$0.hasUnsynced })
        else { return false }
        return devices.allSatisfy { device in
            rooms.allSatisfy { missing($0, on: device) == nil && knowsLog(of: $0, on: device) }
        }
    }

    /// Whether the messages that a device has received are of the room's current log.
    private func knowsLog(of room: RoomName, on device: SimulatedDevice) -> Bool {
        device.deliveredOffsets(room).isEmpty || device.logs[room] == world.relay.logID(room)
    }

    func compare() {
        if attachments.openCount > 0 {
            let detail = "\(attachments.openCount) transfers have not ended"
            ledger.fail(.attachmentsAreWhole, at: world.now, detail)
        }
        for device in devices {
            if device.hasUnsettled {
                let detail =
                    "device \(device.id): \(device.acceptedCounters.count) of \(device.drafts.records.count) accepted"
                ledger.fail(.everythingArrives, at: world.now, detail)
            }
            for room in rooms {
                let skipped = device.skipped[room] ?? []
                let others = (world.relay.log[room] ?? []).filter { $0.device.rawValue != device.id }
                let expected = others.map(\.offset).filter { !skipped.contains($0) }
                let delivered = device.deliveredOffsets(room).filter { !skipped.contains($0) }
                guard delivered != expected else { continue }
                let detail = "device \(device.id) delivered \(delivered.count) of \(expected.count) in \(room)"
                ledger.fail(.everythingArrives, at: world.now, detail)
            }
        }
    }

    // MARK: - Quiescence

    /// Waits until nothing is in transit. Reports the remaining state at the timeout.
    func awaitQuiescence() {
        let start = world.now
        run(for: .seconds(60))
        var faults = remainingState()
        while !faults.isEmpty, world.now - start < quiescenceTimeout, holds {
            run(for: .seconds(1))
            faults = remainingState()
        }
        for fault in faults.prefix(4) { ledger.fail(.nothingIsRetained, at: world.now, fault) }
        if faults.isEmpty, !scenario.usesRoles { checkOnline() }
    }

    /// State of both ends that remains although nothing is in transit, and differences of their credit.
    private func remainingState() -> [String] {
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
        if let count = roles?.openCount, count > 0 { faults.append("\(count) operations without an outcome") }
        if attachments.openCount > 0 { faults.append("\(attachments.openCount) transfers have not ended") }
        if requests.openCount > 0 { faults.append("\(requests.openCount) requests without an outcome") }
        return faults
    }

    /// Stops all devices and checks that no state remains.
    func leaveAll() {
        let first = devices[0]
        leave(first)
        run(for: .seconds(10))
        checkPresence(of: first.account, is: .left)
        for device in devices.dropFirst() { leave(device) }
        run(for: Simulation.leaveTimeout)
        for device in devices {
            guard case .stopped(nil) = device.client.engine.status.state else {
                ledger.fail(.nothingIsRetained, at: world.now, "device \(device.id) does not stop")
                continue
            }
            if let deadline = device.client.engine.deadline {
                let time = deadline.nanoseconds / 1_000_000
                let detail = "device \(device.id) has stopped, and a timer at \(time) ms"
                ledger.fail(.nothingIsRetained, at: world.now, detail)
            }
        }
        let left = world.relay.loops.statistics
        if left.connections + left.links + left.suspendedLinks + left.rooms > 0 {
            let detail = "\(left.connections) connections, \(left.links) links, \(left.rooms) rooms when all have left"
            ledger.fail(.nothingIsRetained, at: world.now, detail)
        } else if let deadline = world.relay.loops.deadline {
            let time = deadline.nanoseconds / 1_000_000
            ledger.fail(.nothingIsRetained, at: world.now, "the relay has nothing, and a timer at \(time) ms")
        }
    }

    private func leave(_ device: SimulatedDevice) {
        device.activeFaultCount += 1
        act(device) { $0.stop(now: $1) }
    }

    // MARK: - Final round

    /// The number of rooms in the final round.
    private static let finalRoomCount = 2

    /// A timeout beyond the wait for quiescence, so that a pending request is noticed.
    private static let finalTimeout = Duration.seconds(290)

    /// Whether the final round has started, in which applications answer at once.
    var isFinalRound: Bool { answeredBeforeFinalRound != nil }

    func runFinalRound() {
        let rooms = rooms.prefix(Simulation.finalRoomCount)
        for device in devices {
            perform(.close(device: device.number, room: 0, lasts: .seconds(2)))
        }
        _ = settle()
        recordBaseline()
        for device in devices {
            for room in rooms.indices { perform(.publish(device: device.number, room: room, count: 1, byteCount: 10)) }
        }
        _ = settle()
        run(for: .seconds(5))
        guard holds else { return }
        compare()
        answeredBeforeFinalRound = requests.answeredCount
        var sentCount = 0
        for device in devices {
            for room in rooms {
                read(device, room)
                if device.client.features.contains(.presence) { type(device, room) }
            }
            for other in devices where other.account != device.account && canRequest(device, other) {
                sendRequest(device, other, rooms[0], 10, Simulation.finalTimeout)
                sentCount += 1
            }
        }
        run(for: .seconds(61))
        let answeredCount = requests.answeredCount - (answeredBeforeFinalRound ?? 0)
        if answeredCount != sentCount, scenario.isReliable {
            ledger.fail(.requestsEndOnce, at: world.now, "\(answeredCount) of \(sentCount) requests were answered")
        }
        for room in rooms { checkReceipts(in: room) }
        if scenario.isReliable { checkTyping(in: rooms[0]) }
    }

    /// Whether the device can send requests and all devices of the other account accept them.
    private func canRequest(_ device: SimulatedDevice, _ other: SimulatedDevice) -> Bool {
        guard device.client.features.contains(.requests) else { return false }
        return devices.allSatisfy { $0.account != other.account || $0.client.features.contains(.requests) }
    }

    /// Checks that each publisher has received delivered and read receipts of all other accounts for its last message
    ///
    private func checkReceipts(in room: RoomName) {
        for device in devices where device.client.features.contains(.receipts) {
            guard let last = (world.relay.log[room] ?? []).last(where: { $0.device.rawValue == device.id })?.offset
            else { continue }
            for other in devices where other.account != device.account && other.client.features.contains(.receipts) {
                let received = members.received(by: device.id, about: other.account, in: room)
                guard received.delivered < last || received.read < last else { continue }
                let receipts = "delivered \(received.delivered) and read \(received.read) of \(other.account)"
                let detail = "device \(device.id) published \(last) in \(room) and received \(receipts)"
                ledger.fail(.receiptsAreCorrect, at: world.now, detail)
            }
        }
    }

    private func checkTyping(in room: RoomName) {
        for device in devices where device.client.features.contains(.presence) {
            for other in devices where other.id != device.id && other.client.features.contains(.presence) {
                guard members.received(by: device.id, about: other.account, in: room).typingCount == 0 else { continue }
                let detail = "device \(device.id) did not receive that \(other.account) types in \(room)"
                ledger.fail(.presenceIsReported, at: world.now, detail)
            }
        }
    }

    /// Checks that no device considers another account away or left, when all have a connection and all rooms are open
    ///
    private func checkOnline() {
        guard scenario.isReliable else { return }
        for device in devices where device.client.features.contains(.presence) {
            for other in devices where other.account != device.account {
                for room in rooms {
                    let received = members.received(by: device.id, about: other.account, in: room).presence
                    guard let received, received != .online else { continue }
                    let detail = "device \(device.id) received last that \(other.account) is \(received) in \(room)"
                    ledger.fail(.presenceIsReported, at: world.now, detail)
                }
            }
        }
    }

    /// Checks that every connected device of another account has received the account's presence.
    func checkPresence(of account: AccountName, is presence: Transient.Presence) {
        guard scenario.isReliable, devices.count(where: { $0.account == account }) == 1 else { return }
        for device in devices where device.account != account && device.client.features.contains(.presence) {
            for room in rooms {
                let received = members.received(by: device.id, about: account, in: room).presence
                guard received != presence else { continue }
                let detail =
                    "device \(device.id) received presence of \(account) in \(room): \(String(describing: received))"
                ledger.fail(.presenceIsReported, at: world.now, detail)
            }
        }
    }
}

extension VirtualClient {
    fileprivate var features: Features { configuration.features }
}
