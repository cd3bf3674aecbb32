public import MartletWire

/// The state of a link, as far as the input contains it, over all its connections: the rooms of its sessions, the
/// sequences of each direction, and the messages of which some fragments were received.
///
/// A ``ConnectionDecoder`` updates the histories. A ``LinkHistories`` finds them by link.
public final class LinkHistory {
    /// The position at which the input of a link begins.
    public enum Beginning: Sendable {
        /// The beginning of the link, where each sequence is 1.
        case link
        /// A position between two messages of the link.
        case betweenMessages
        /// Any position, including one inside a message.
        case anywhere
    }

    /// The position of a reliable frame in its session.
    struct Position: Equatable {
        var sequence: UInt64
        var isRepeated = false
        var missingCount: UInt64 = 0
    }

    /// A message whose first fragments were received.
    private struct PartialMessage {
        var type: FrameType
        var bytes: [UInt8]
        var fragmentCount: Int
    }

    /// One direction of a session.
    private struct Direction {
        /// The lowest sequence that was not received.
        var next: UInt64?
        var partial: PartialMessage?
        /// Whether the next frame begins a message, or continues one whose first fragment was received.
        var isSure: Bool
    }

    private struct Session {
        var room: String?
        var client: Direction
        var server: Direction
        var closedBy: Set<PeerRole> = []
        var isOver = false

        init(isSure: Bool, next: UInt64?) {
            client = Direction(next: next, isSure: isSure)
            server = client
        }

        subscript(sender: PeerRole) -> Direction {
            get { sender == .client ? client : server }
            _modify {
                if sender == .client { yield &client } else { yield &server }
            }
        }
    }

    /// The position at which the input of this link begins.
    public let beginning: Beginning
    private let budget: JoinBudget
    private var sessions: [SessionID: Session] = [:]

    init(_ beginning: Beginning, budget: JoinBudget) {
        self.beginning = beginning
        self.budget = budget
    }

    deinit {
        for session in sessions.values {
            for direction in [session.client, session.server] { budget.release(direction.partial?.bytes.count ?? 0) }
        }
    }

    /// The room on which a session was opened; nil if its open frame is not in the input.
    public func room(of session: SessionID) -> String? { sessions[session]?.room }

    /// The lowest sequence of a sender in a session that is not in the input; nil before its first reliable frame if
    /// the input does not begin with the link.
    public func nextSequence(of session: SessionID, from sender: PeerRole) -> UInt64? {
        sessions[session]?[sender].next
    }

    /// Whether the latest frame of a sender began a message, or continued one whose first fragment was received.
    func isSure(_ session: SessionID, _ sender: PeerRole) -> Bool { sessions[session]?[sender].isSure ?? true }

    private func session(_ id: SessionID) -> Session {
        sessions[id]
            ?? Session(isSure: beginning != .anywhere, next: beginning == .link ? 1 : nil)
    }

    /// Determines the position of a reliable frame in the sequences of its sender (Specs/session.md §3).
    func locate(_ header: FrameHeader, from sender: PeerRole) -> Position {
        var session = session(header.session)
        if header.type == .open, session.isOver { session = Session(isSure: true, next: 1) }
        defer { sessions[header.session] = session }
        let low = UInt64(header.sequence)
        guard let next = session[sender].next else {
            session[sender].next = low + 1
            return Position(sequence: low)
        }
        let distance = Int32(bitPattern: header.sequence &- UInt32(truncatingIfNeeded: next))
        let missing = UInt64(distance.magnitude)
        if distance < 0 { return Position(sequence: next > missing ? next - missing : low, isRepeated: true) }
        let sequence = next &+ missing
        session[sender].next = sequence &+ 1
        if missing > 0 {
            drop(&session[sender])
            session[sender].isSure = false
        }
        return Position(sequence: sequence, missingCount: missing)
    }

    /// The result of joining a body with the fragments before it.
    enum Joined: Equatable {
        /// The complete body, and the number of its fragments.
        case whole([UInt8], fragmentCount: Int)
        /// A fragment, with its number from 1.
        case part(Int)
        /// Discarded, because the partial messages have reached the bound of ``JoinBudget``.
        case discarded
    }

    /// Adds the inflated body of a frame (Specs/wire.md §3.9). Throws if a frame of another type comes between
    /// fragments, or if the message exceeds `limit` bytes.
    func join(
        _ header: FrameHeader, _ body: [UInt8], from sender: PeerRole, limit: Int
    ) throws(DecodeFault) -> Joined {
        var session = session(header.session)
        defer { sessions[header.session] = session }
        let hasMore = header.flags.contains(.moreFragments)
        defer { if !hasMore { session[sender].isSure = true } }
        guard var partial = session[sender].partial else {
            if !hasMore { return .whole(body, fragmentCount: 1) }
            guard budget.reserve(body.count) else {
                session[sender].isSure = false
                return .discarded
            }
            session[sender].partial = PartialMessage(type: header.type, bytes: body, fragmentCount: 1)
            return .part(1)
        }
        session[sender].partial = nil
        if partial.type != header.type {
            budget.release(partial.bytes.count)
            throw DecodeFault(.protocolViolation, "\(header.type) between the fragments of \(partial.type)")
        }
        guard partial.bytes.count + body.count <= limit, budget.reserve(body.count) else {
            budget.release(partial.bytes.count)
            session[sender].isSure = !hasMore
            if partial.bytes.count + body.count <= limit { return .discarded }
            throw DecodeFault(.messageTooLarge, "a message of more than \(limit) bytes")
        }
        partial.bytes += body
        partial.fragmentCount += 1
        if hasMore {
            session[sender].partial = partial
            return .part(partial.fragmentCount)
        }
        budget.release(partial.bytes.count)
        return .whole(partial.bytes, fragmentCount: partial.fragmentCount)
    }

    private func drop(_ direction: inout Direction) {
        budget.release(direction.partial?.bytes.count ?? 0)
        direction.partial = nil
    }

    /// Applies a complete frame to its session.
    func follow(_ frame: Frame, _ header: FrameHeader, from sender: PeerRole) {
        switch frame {
        case .open(let open):
            sessions[header.session]?.room = open.room.text
        case .close:
            sessions[header.session]?.closedBy.insert(sender)
            if sessions[header.session]?.closedBy.count == 2 { end(header.session) }
        case .reset(let reset): end(reset.session)
        default: break
        }
    }

    private func end(_ id: SessionID) {
        guard sessions[id] != nil else { return }
        sessions[id]?.isOver = true
        for sender in [PeerRole.client, .server] { drop(&sessions[id]![sender]) }
    }
}

/// The bound on the partial messages of all links of a table.
final class JoinBudget {
    /// The maximum size of all partial messages, in bytes.
    static let maxByteCount = 64 << 20

    private var byteCount = 0

    /// Reserves bytes; false if the bound is reached.
    func reserve(_ byteCount: Int) -> Bool {
        guard self.byteCount + byteCount <= Self.maxByteCount else { return false }
        self.byteCount += byteCount
        return true
    }

    func release(_ byteCount: Int) { self.byteCount -= byteCount }
}
