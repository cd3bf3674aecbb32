import MartletProtocol
import MartletWire

/// When all has arrived, every device does once more all that it can, and sees what comes of it.
extension Simulation {
    /// Rooms in which that is done.
    private static let finalRoomCount = 2

    /// Longer than it takes until all has to be quiescent: what waits for it would be seen.
    private static let finalDeadline = Duration.seconds(290)

    /// Whether it is the final round: whoever is asked answers at once.
    var isFinalRound: Bool { finalQuestions != nil }

    func playFinalRound() {
        let rooms = rooms.prefix(Simulation.finalRoomCount)
        for device in devices {
            perform(.close(device: device.number, room: 0, lasts: .seconds(2)))
        }
        _ = settle()
        noteCalm()
        for device in devices {
            for room in rooms.indices { perform(.say(device: device.number, room: room, count: 1, byteCount: 10)) }
        }
        _ = settle()
        run(for: .seconds(5))
        guard holds else { return }
        compare()
        finalQuestions = requests.answeredCount
        var askedCount = 0
        for device in devices {
            for room in rooms {
                read(device, room)
                if device.client.features.contains(.presence) { type(device, room) }
            }
            for other in devices where other.account != device.account && canAsk(device, other) {
                ask(device, other, rooms[0], 10, Simulation.finalDeadline)
                askedCount += 1
            }
        }
        run(for: .seconds(61))
        let answeredCount = requests.answeredCount - (finalQuestions ?? 0)
        if answeredCount != askedCount, story.isReliable {
            ledger.fail(.requestsEndOnce, at: world.now, "\(answeredCount) of \(askedCount) requests are answered")
        }
        for room in rooms { checkReceipts(in: room) }
        if story.isReliable { checkTyping(in: rooms[0]) }
    }

    /// Whether another account's devices all take requests, and one's own can make them.
    private func canAsk(_ device: SimulatedDevice, _ other: SimulatedDevice) -> Bool {
        guard device.client.features.contains(.requests) else { return false }
        return devices.allSatisfy { $0.account != other.account || $0.client.features.contains(.requests) }
    }

    /// Each author has been told that every other account has taken and read what it wrote last.
    private func checkReceipts(in room: RoomName) {
        for device in devices where device.client.features.contains(.receipts) {
            guard let last = (world.relay.log[room] ?? []).last(where: { $0.device.rawValue == device.id })?.offset
            else { continue }
            for other in devices where other.account != device.account && other.client.features.contains(.receipts) {
                let told = attendance.told(device.id, of: other.account, in: room)
                guard told.delivered < last || told.read < last else { continue }
                let detail = "device \(device.id) wrote \(last) in \(room) and hears of \(other.account) "
                ledger.fail(
                    .receiptsAreTrue, at: world.now, detail + "that it has \(told.delivered) and has read \(told.read)")
            }
        }
    }

    private func checkTyping(in room: RoomName) {
        for device in devices where device.client.features.contains(.presence) {
            for other in devices where other.id != device.id && other.client.features.contains(.presence) {
                guard attendance.told(device.id, of: other.account, in: room).typingCount == 0 else { continue }
                let detail = "device \(device.id) does not hear that \(other.account) types in \(room)"
                ledger.fail(.presenceIsTold, at: world.now, detail)
            }
        }
    }

    /// Every connected device of another account was told where an account is.
    func checkPresence(of account: AccountName, is presence: Transient.Presence) {
        guard story.isReliable, devices.count(where: { $0.account == account }) == 1 else { return }
        for device in devices where device.account != account && device.client.features.contains(.presence) {
            for room in rooms {
                let told = attendance.told(device.id, of: account, in: room).presence
                guard told != presence else { continue }
                let detail = "device \(device.id) is told of \(account) in \(room): \(String(describing: told))"
                ledger.fail(.presenceIsTold, at: world.now, detail)
            }
        }
    }
}

extension VirtualClient {
    fileprivate var features: Features { configuration.features }
}
