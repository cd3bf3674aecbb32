import MartletLink
import MartletWire

/// What a session of a link belongs to.
enum SessionOwner: Sendable {
    /// A member of a room.
    case member
    /// The attachments of a room; the session is no member.
    case attachment
    /// The account of the link.
    case account
}

extension RelayLink {
    /// A session's membership in a room.
    struct Membership: Sendable {
        /// The room, if it has not admitted the session or is on another loop; otherwise the handle finds it.
        var room: RoomName?
        /// Whether the session has the priority of bulk.
        var isBulk: Bool
        let owner: SessionOwner
        /// The handle in the room; nil until the room has admitted the session.
        var handle: MemberHandle?
        /// The permissions of the room policy.
        var permissions = RoomPermissions.all
        /// The question to the room policy that has no answer.
        var question: RelayCallID?
        /// Whether the `open` waits for the answer, so that the room does not know the session.
        var isAsked = false
        /// Whether frames wait for the answer, because the last decision was about other claims.
        var waitsForDecision = false
        /// Whether the session has suspended the delivery of messages.
        var isSuspended = false
        /// The cursor of a `resume` that preceded the admission.
        @CompactOptional var wantedCursor: UInt64? = nil
        /// Whether the room holds messages back, because the link's queue is long.
        var isBacklogged = false
        /// The credit limit for messages that the room knows.
        var creditLimit: UInt64 = 0
        /// Whether the room keeps messages until it gains credit.
        var waitsForCredit = false
        var receipts = ReceiptAllowance()
        /// Whether a close followed frames that are held for the room (S-8).
        var isClosing = false

        init(owner: SessionOwner, room: RoomName?, isBulk: Bool, creditLimit: UInt64 = 0) {
            self.owner = owner
            self.room = room
            self.isBulk = isBulk
            self.creditLimit = creditLimit
        }

        /// The frames that preceded the admission: one element, or none without memory.
        private var heldFrames: [HeldFrames] = []

        /// The frames that preceded the admission.
        var held: HeldFrames { heldFrames.first ?? HeldFrames() }
        /// Whether there is memory for frames.
        var hasHeldMemory: Bool { !heldFrames.isEmpty }
        /// Bytes of the frames that preceded the admission, with objects.
        var heldByteCount: Int { held.storageByteCount }

        /// Holds a frame; false, without a change, when it costs much more than the credit that it used.
        mutating func hold(_ type: FrameType, _ body: RawSpan, credit: Int) -> Bool {
            if heldFrames.isEmpty { heldFrames.append(HeldFrames()) }
            return heldFrames[0].append(type, body, credit: credit)
        }

        /// Takes the held frames.
        mutating func takeHeld() -> HeldFrames {
            defer { heldFrames = [] }
            return held
        }
    }
}
