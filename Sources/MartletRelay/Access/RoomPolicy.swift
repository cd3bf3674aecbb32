import MartletLink

/// Decides which accounts may enter which rooms, and with which permissions.
///
/// A relay requests a decision when a session opens a room, when an earlier decision expires, when a link resumes or a
/// credential is renewed with other claims, and after ``Relay/revokeRoomDecisions(of:in:)``. It also requests one for
/// each request to join a room, to invite to it, or to mark it as read, and about the messages of each room in an
/// account's list (`RoomPermissions.readHistory`). A decision applies to one session. A request
/// without an answer within `RelayConfiguration.policyTimeout` counts as failed, with the error ``RoomPolicyTimeout``.
/// Its call is not cancelled, and counts among the at most 1,024 calls of a loop until it returns.
public protocol RoomPolicy: Sendable {
    /// Decides about one session.
    ///
    /// - Throws: Any error, which is reported as `RelayEvent.policyFailed`. The session is reset with `serverBusy`, and
    ///   the client opens it again later.
    func decision(on request: RoomAuthorizationRequest) async throws -> RoomDecision
}

/// The error of `RelayEvent.policyFailed` when the policy exceeds `RelayConfiguration.policyTimeout`.
public struct RoomPolicyTimeout: Error, Equatable, CustomStringConvertible {
    /// A description in one line.
    public var description: String { "the room policy exceeded its timeout" }
}

/// A policy that decides without suspension. The relay calls it on its loops, so it must not block.
public protocol ImmediateRoomPolicy: RoomPolicy {
    /// Decides about one session.
    func immediateDecision(on request: RoomAuthorizationRequest) -> RoomDecision
}

extension ImmediateRoomPolicy {
    /// Returns the immediate decision.
    public func decision(on request: RoomAuthorizationRequest) async -> RoomDecision {
        immediateDecision(on: request)
    }
}

/// Permits every account everything in every room.
public struct AllowAllRooms: ImmediateRoomPolicy {
    /// Creates the policy.
    public init() {}

    /// Grants every permission.
    public func immediateDecision(on request: RoomAuthorizationRequest) -> RoomDecision { .granted(.all) }
}

extension RoomPolicy where Self == AllowAllRooms {
    /// A policy that permits every account everything in every room.
    public static var allowAll: AllowAllRooms { AllowAllRooms() }
}
