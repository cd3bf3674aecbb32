import MartletLink
import MartletWire

/// Requests for the administration of the relay, on sessions of accounts.
extension SessionRouter {
    /// The units of the account's rate that a refused request costs.
    private static let refusalUnits = 16

    /// Asks the room policy whether the account administers the relay. The session has begun the request.
    mutating func requested(_ call: AdministrationCall, of slot: Int, now: Instant) {
        // A policy that permits everything to everyone permits no administration.
        guard configuration.asksRoomPolicy else { return refuse(call, of: slot, now: now) }
        ask(.administration(call), now: now)
    }

    /// The room policy's decision about a request; nil if the policy failed.
    mutating func authorized(_ call: AdministrationCall, _ decision: RoomDecision?, now: Instant) {
        guard let slot = links.slot(call.caller.link) else { return }
        switch decision {
        case nil: concluded(call, RequestAnswer(status: .serverBusy))
        case .granted(let permissions, _) where permissions.contains(.administer):
            self.call(.administer(call.request), for: .administration(call), now: now)
        case .refused, .granted: refuse(call, of: slot, now: now)
        }
    }

    /// Refuses an account that does not administer the relay (Specs/hostile.md row 108).
    private mutating func refuse(_ call: AdministrationCall, of slot: Int, now: Instant) {
        relayLinks.spendOperation(Self.refusalUnits, of: slot, now: now)
        concluded(call, RequestAnswer(status: .forbidden))
    }

    /// Answers a request, and notes it.
    mutating func concluded(_ call: AdministrationCall, _ answer: RequestAnswer) {
        let connection = links.slot(call.caller.link).flatMap { links[$0].connection }
        administrations.append((AdministrationRecord(call, answer.status), connection))
        answered(call.caller, answer.response(to: call.number))
    }
}

/// A request for administration, on its way to the relay's driver.
struct AdministrationCall: Sendable {
    let caller: MemberKey
    /// The number of the request in its session.
    let number: UInt64
    let who: DeviceKey
    let request: Request
}

/// A request for the administration of the relay, for a log. It contains no text.
public struct AdministrationRecord: Equatable, Sendable {
    /// The device that has sent the request.
    public let actor: DeviceKey
    /// The method, which may be one that the relay does not have.
    public let method: MethodName
    /// The room, or the one in or behind which a series continues; nil if the request names none.
    public let room: RoomName?
    /// The account that the request affects; nil if it names none.
    public let target: AccountName?
    /// The status of the response: `none` if the request was performed.
    public let status: ErrorCode

    /// Whether the relay drains because of the request.
    package var isDrain: Bool { status == .none && drainsAnswerer }
    private let drainsAnswerer: Bool

    init(_ call: AdministrationCall, _ status: ErrorCode) {
        let content = call.request.content ?? []
        let query = try? AdministrationQuery(parsing: content.rawBytes)
        actor = call.who
        method = call.request.method
        room = query?.room ?? query?.nextRoom
        target = query?.account
        drainsAnswerer = call.request.isDrain
        self.status = status
    }
}
