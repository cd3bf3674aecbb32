import MartletLink
import MartletWire

extension RelayLink {
    /// A session's membership in a room.
    struct Membership: Sendable {
        /// The room, if it has not admitted the session or is on another loop; otherwise the handle finds it.
        var room: RoomName?
        /// Whether the session has the priority of bulk.
        var isBulk: Bool
        /// Whether the session is of kind attachment, and no member.
        var isAttachment = false
        /// The handle in the room; nil until the room has admitted the session.
        var handle: MemberHandle?
        /// The permissions of the room policy.
        var permissions = RoomPermissions.all
        /// The question to the room policy that has no answer.
        var question: QuestionID?
        /// Whether the `open` waits for the answer, so that the room does not know the session.
        var isAsked = false
        /// Whether frames wait for the answer, because the last decision was about other claims.
        var waitsForDecision = false
        /// Whether the session has suspended the delivery of messages.
        var isSuspended = false
        /// The cursor of a `resume` that preceded the admission.
        @Compact var wantedCursor: UInt64? = nil
        /// Whether the room holds messages back, because the link's queue is long.
        var isHeldBack = false
        /// The credit limit for messages that the room knows.
        var creditLimit: UInt64 = 0
        /// Whether the room keeps messages until it gains credit.
        var waitsForCredit = false
        var receipts = ReceiptAllowance()
        /// Whether a close followed frames that are held for the room (S-8).
        var isClosing = false
        /// The frames that preceded the admission.
        var heldFrames = OnDemand<HeldFrames>()

        var held: HeldFrames { heldFrames.value }
        /// Bytes of the frames that preceded the admission, with objects.
        var heldByteCount: Int { held.storageByteCount }
    }
}
