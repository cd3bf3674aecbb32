import Martlet
import MartletLink
import MartletWire

/// Requests for pages of history, and the checks of their answers.
extension Simulation {
    /// The timeout of a request.
    private static let historyTimeout = Duration.seconds(20)

    /// A device requests a page. `place` is a number of messages before the last one that the device knows.
    func readHistory(_ device: SimulatedDevice, _ room: RoomName, _ direction: Scenario.Direction, place: Int) {
        guard device.isRunning, let id = device.rooms[room] else { return }
        let known = device.lastKnown(room)
        let offset = known - min(known, UInt64(place))
        let log = device.logs[room]
        let entries = log.flatMap { world.relay.entries(of: $0, in: room) } ?? []
        let time = offset > 0 && offset <= UInt64(entries.count) ? entries[Int(offset) - 1].acceptedAt : wallClock
        let query =
            switch direction {
            case .before: HistoryQuery(.before(offset + 1), limit: 1 + place % 70, log: log)
            case .after: HistoryQuery(.after(offset), limit: 1 + place % 70, log: log)
            case .time: HistoryQuery(.acceptedFrom(time + UInt64(place % 2)), limit: 5)
            }
        // The outcome may occur in this call.
        world.act(device.client) { engine, now in
            guard
                let number = try? engine.request(
                    HistoryQuery.method, content: query.content, to: nil, in: id, deadline: Simulation.historyTimeout,
                    now: now)
            else { return }
            history.sent(
                RequestLedger.Key(device: device.id, start: device.startCount, number: number), query, in: room,
                world.relay.logID(room), count: world.relay.log[room]?.count ?? 0)
        }
    }

    /// The outcome of a request for a page; false for another request.
    func historyEnded(_ key: RequestLedger.Key, _ outcome: RequestOutcome) -> Bool {
        let (fault, isKnown) = history.ended(key, outcome) { world.relay.entries(of: $0, in: $1) }
        if let fault { ledger.fail(.pagesAreOfTheLog, at: world.now, fault) }
        return isKnown
    }
}
