import MartletProtocol
import MartletWire

/// The final round: every device uses all functions once more, without faults, and the effects are checked.
extension Simulation {
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
