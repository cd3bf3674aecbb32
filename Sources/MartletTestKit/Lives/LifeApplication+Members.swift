import Martlet
import MartletProtocol
import MartletWire

/// The membership records of an application's account, and its list of rooms.
extension LifeApplication {
    /// Changes a record of this account, or invites another account.
    func changeMembership(_ client: Client) async {
        let change = LifeMembers.Change.allCases[Int(random.next() % 4)]
        let room = readers[Int(random.next() % UInt64(readers.count))].room
        let account = change == .invite ? peer() : plan.account
        let pending = ledger.members.begin(change, of: account, in: room)
        do {
            try await call("membership", within: .seconds(11)) {
                switch change {
                case .join: try await client.join(room: room)
                case .leave: try await client.leave(room: room)
                case .decline: try await client.decline(room: room)
                case .invite: try await client.invite(account, to: room)
                }
            }
            ledger.members.end(pending, isExecuted: true)
        } catch let error as MartletError where error.errorCode == .notJoined {
            ledger.members.end(pending, isExecuted: false)
        } catch {
            // A request that was refused may have been executed, because the answer of the store can be lost.
            ledger.members.end(pending, isExecuted: nil)
        }
    }

    /// Checks the list of rooms against the log and the answers to earlier calls.
    func checkRooms() async {
        guard let client, let list = try? await call("rooms", within: .seconds(60), { try await client.rooms() }) else {
            return ledger.fail(.everythingSettles, "device \(number) receives no list of rooms")
        }
        for reader in readers {
            let summary = list.first { $0.name == reader.room }
            let state: LifeMembers.State = summary.map { $0.isJoined ? .joined : .invited } ?? .none
            let possible = ledger.members.possible(of: plan.account, in: reader.room)
            if !possible.contains(state) {
                ledger.fail(
                    .listsAreCurrent, "device \(number): the record of \(reader.room) is \(state), not of \(possible)")
            }
            if let summary { check(summary, of: reader) }
        }
    }

    private func check(_ summary: RoomSummary, of reader: LifeReader) {
        let log = ledger.log[reader.room]
        let unread = log.suffix(Int(RoomEntry.maxScannedCount)).count {
            $0.offset > summary.readUpTo && $0.id.sender != plan.account
        }
        let expected = min(unread, RoomSummary.maxUnreadCount)
        if summary.lastOffset != UInt64(log.count) || summary.unreadCount != expected {
            ledger.fail(
                .listsAreCurrent,
                "device \(number): \(reader.room) ends at \(summary.lastOffset) of \(log.count) with "
                    + "\(summary.unreadCount) unread messages, not \(expected)")
        }
        if let text = summary.lastMessage?.text, text != log.last?.text {
            ledger.fail(.listsAreCurrent, "device \(number): \(reader.room) ends with \"\(text)\"")
        }
        let mark = rooms[reader.room]?.snapshot.readOffset ?? 0
        if mark > summary.readUpTo {
            ledger.fail(.listsAreCurrent, "device \(number): \(reader.room) is read up to \(mark), the list differs")
        }
    }
}
