import Martlet
import MartletLink
import MartletWire

/// The membership records of an application's account.
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
}
