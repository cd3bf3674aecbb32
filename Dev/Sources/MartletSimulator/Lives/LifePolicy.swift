import MartletLink
import MartletRelay
import MartletWire

/// The room policy of a run, which refuses accounts for a while.
final class LifePolicy: ImmediateRoomPolicy, @unchecked Sendable {  // used by the thread that runs the world
    enum Refusal: CaseIterable {
        /// The account may not enter the room.
        case banned
        /// The account may not publish.
        case muted
    }

    var refusals: [RoomName: [AccountName: Refusal]] = [:]

    func immediateDecision(on request: RoomAuthorizationRequest) -> RoomDecision {
        switch refusals[request.room]?[request.identity.account] {
        case nil: .granted(.all)
        case .banned: .refused
        case .muted: .granted([.readHistory, .request])
        }
    }
}
