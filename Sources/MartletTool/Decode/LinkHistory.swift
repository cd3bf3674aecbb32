import MartletWire

/// What was seen of one link, over all its connections: the rooms of its sessions, how far each way of them has come,
/// and the messages that are there in part.
final class LinkHistory {
    /// Where what is known of a link begins.
    enum Beginning {
        /// With the link: every sequence starts at 1.
        case link
        /// Somewhere, but between two messages.
        case betweenMessages
        /// Anywhere.
        case anywhere
    }

    /// What a reliable frame's sequence says of it.
    struct Position: Equatable {
        var sequence: UInt64
        var isRepeated = false
        var missingCount: UInt64 = 0
    }

    /// A message that is there in part.
    private struct Begun {
        var type: FrameType
        var bytes: [UInt8]
        var fragmentCount: Int
    }

    /// One way of a session.
    private struct Way {
        /// The lowest sequence that was not seen.
        var next: UInt64?
        var begun: Begun?
        /// Whether what comes next is known to begin a message, or to go on one whose beginning was seen.
        var isSure: Bool
    }

    private struct Session {
        var room: String?
        var client: Way
        var server: Way
        var closedBy: Set<Sender> = []
        var isOver = false

        init(isSure: Bool, next: UInt64?) {
            client = Way(next: next, isSure: isSure)
            server = client
        }

        subscript(sender: Sender) -> Way {
            get { sender == .client ? client : server }
            _modify {
                if sender == .client { yield &client } else { yield &server }
            }
        }
    }

    let beginning: Beginning
    private let budget: JoinBudget
    private var sessions: [SessionID: Session] = [:]

    init(_ beginning: Beginning, budget: JoinBudget) {
        self.beginning = beginning
        self.budget = budget
    }

    deinit {
        for session in sessions.values {
            for way in [session.client, session.server] { budget.give(back: way.begun?.bytes.count ?? 0) }
        }
    }

    /// The room that the session was opened on.
    func room(of session: SessionID) -> String? { sessions[session]?.room }

    /// Whether the bytes that came last on that way are known to have been the beginning of a message, or to go on one.
    func isSure(_ session: SessionID, _ sender: Sender) -> Bool { sessions[session]?[sender].isSure ?? true }

    private func session(_ id: SessionID) -> Session {
        sessions[id]
            ?? Session(isSure: beginning != .anywhere, next: beginning == .link ? 1 : nil)
    }

    /// Takes the place of a reliable frame in its sequence (Specs/session.md §3).
    func locate(_ header: FrameHeader, from sender: Sender) -> Position {
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

    /// What a new reliable frame's body adds to its session.
    enum Joined: Equatable {
        /// The whole body, from so many fragments.
        case whole([UInt8], fragmentCount: Int)
        /// A fragment: the number of the part.
        case part(Int)
        /// More incomplete messages than are kept: this one is not joined.
        case givenUp
    }

    /// Adds a frame's inflated body (Specs/wire.md §3.9). Throws when a frame of another type stands between
    /// fragments, or the message is longer than `limit`.
    func join(
        _ header: FrameHeader, _ body: [UInt8], from sender: Sender, limit: Int
    ) throws(Fault) -> Joined {
        var session = session(header.session)
        defer { sessions[header.session] = session }
        let hasMore = header.flags.contains(.moreFragments)
        defer { if !hasMore { session[sender].isSure = true } }
        guard var begun = session[sender].begun else {
            if !hasMore { return .whole(body, fragmentCount: 1) }
            guard budget.take(body.count) else {
                session[sender].isSure = false
                return .givenUp
            }
            session[sender].begun = Begun(type: header.type, bytes: body, fragmentCount: 1)
            return .part(1)
        }
        session[sender].begun = nil
        if begun.type != header.type {
            budget.give(back: begun.bytes.count)
            throw Fault(.protocolViolation, "\(header.type) between the fragments of \(begun.type)")
        }
        guard begun.bytes.count + body.count <= limit, budget.take(body.count) else {
            budget.give(back: begun.bytes.count)
            session[sender].isSure = !hasMore
            if begun.bytes.count + body.count <= limit { return .givenUp }
            throw Fault(.messageTooLarge, "a message of more than \(limit) bytes")
        }
        begun.bytes += body
        begun.fragmentCount += 1
        if hasMore {
            session[sender].begun = begun
            return .part(begun.fragmentCount)
        }
        budget.give(back: begun.bytes.count)
        return .whole(begun.bytes, fragmentCount: begun.fragmentCount)
    }

    private func drop(_ way: inout Way) {
        budget.give(back: way.begun?.bytes.count ?? 0)
        way.begun = nil
    }

    /// Notes what a whole frame does to sessions.
    func follow(_ frame: Frame, _ header: FrameHeader, from sender: Sender) {
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
        for sender in [Sender.client, .server] { drop(&sessions[id]![sender]) }
    }
}

/// How much of incomplete messages is held in all.
final class JoinBudget {
    /// The most, in bytes.
    static let maxByteCount = 64 << 20

    private var byteCount = 0

    /// Whether there was room for so many bytes more.
    func take(_ byteCount: Int) -> Bool {
        guard self.byteCount + byteCount <= Self.maxByteCount else { return false }
        self.byteCount += byteCount
        return true
    }

    func give(back byteCount: Int) { self.byteCount -= byteCount }
}
