import MartletLink
import MartletRelay
import MartletWire

/// The room policy of a run, which refuses accounts for a while.
final class LifePolicy: ImmediateRoomPolicy, @unchecked Sendable {  // used by the thread that runs the world
    var refusals: [RoomName: [AccountName: Fault.Refusal]] = [:]

    func immediateDecision(on request: RoomAuthorizationRequest) -> RoomDecision {
        switch refusals[request.room]?[request.identity.account] {
        case nil: .granted(.all)
        case .banned: .refused
        case .muted: .granted([.readHistory, .request])
        }
    }
}
