import Martlet
import MartletLink
import MartletTestKit
import MartletWire

/// The possible states of the membership records that the applications of a run have changed, derived from the answers.
///
/// A call without concurrent calls leaves the state after its change, or the earlier state if it was refused. After
/// concurrent calls, and after a call without an answer, every state is possible. A call without an answer counts as in
/// progress for `answerTimeout`.
final class LifeMembers: @unchecked Sendable {  // used by the thread that runs the world
    enum State: CaseIterable {
        case none
        case invited
        case joined
    }

    enum Change: CaseIterable {
        case join
        case leave
        case decline
        case invite

        /// The state of the record after the change.
        func applied(to state: State) -> State {
            switch self {
            case .join: .joined
            case .leave: state == .joined ? .none : state
            case .decline: state == .invited ? .none : state
            case .invite: state == .none ? .invited : state
            }
        }
    }

    /// A call in progress.
    struct Call {
        fileprivate let key: Key
        fileprivate let change: Change
        fileprivate let number: Int
    }

    fileprivate struct Key: Hashable {
        let account: AccountName
        let room: RoomName
    }

    private struct Record {
        var possible: Set<State> = [.none]
        var callCount = 0
        /// The number of the last call that was alone when it began; nil if another call has begun since.
        var alone: Int?
        /// The instant after which calls without an answer no longer have an effect.
        var unansweredUntil: Instant?
    }

    /// The duration after which an unanswered request is no longer executed. Every fault is shorter.
    private static let answerTimeout = Duration.seconds(300)

    private let world: TestWorld
    private var records: [Key: Record] = [:]
    private var lastCall = 0

    init(_ world: TestWorld) {
        self.world = world
    }

    func begin(_ change: Change, of account: AccountName, in room: RoomName) -> Call {
        let key = Key(account: account, room: room)
        lastCall += 1
        var record = records[key, default: Record()]
        let isAlone = record.callCount == 0 && record.unansweredUntil.map { $0 < world.now } ?? true
        record.alone = isAlone ? lastCall : nil
        record.callCount += 1
        records[key] = record
        return Call(key: key, change: change, number: lastCall)
    }

    /// Records the end of a call.
    ///
    /// - Parameter isExecuted: Whether the relay has made the change; nil if that is not known.
    func end(_ call: Call, isExecuted: Bool?) {
        var record = records[call.key]!
        record.callCount -= 1
        if isExecuted == nil { record.unansweredUntil = world.now + Self.answerTimeout }
        if let isExecuted, record.alone == call.number {
            if isExecuted { record.possible = Set(record.possible.map(call.change.applied)) }
        } else {
            record.possible = Set(State.allCases)
        }
        records[call.key] = record
    }

    /// Records that the store was replaced by an earlier copy.
    func restored() {
        for key in records.keys {
            records[key]!.possible = Set(State.allCases)
            records[key]!.alone = nil
        }
    }

    /// The states that the record of an account can have.
    func possible(of account: AccountName, in room: RoomName) -> Set<State> {
        records[Key(account: account, room: room)]?.possible ?? [.none]
    }
}
