/// What compact frames of one direction of a connection leave out, because the ones before them have said it (W-84).
///
/// Writer and reader keep one each; they stay alike because a carrier is a stream, and because each frame changes it
/// only after it was written, or read, whole.
struct PacketContext {
    /// Sessions that compact frames of a connection may name (W-85).
    static let maxSessionCount = 256
    /// Authors that deliveries can refer to.
    static let authorCount = 8

    /// Who wrote a message, and the last counter of theirs.
    struct Author: Equatable {
        var device: UInt64
        var sender: [UInt8]
        var counter: UInt64 = 0
    }

    /// What is known of one session.
    struct Session {
        let id: SessionID
        var nextSequence: UInt32?
        var priority: Priority
        /// The last offset of a delivery.
        var offset: UInt64 = 0
        /// The end of the last run in an accepted.
        var acceptedCounter: UInt64 = 0
        var acceptedOffset: UInt64 = 0
        /// What the last ack said of the session.
        var cumulative: UInt64 = 0
        var creditLimit: UInt64 = 0
    }

    /// The last session that was not the control session.
    var session: SessionID?
    /// Whether a frame has said its time; the writer's to know.
    var hasSaidTime = false
    /// Where the next author is put when all places are taken; the writer's choice.
    var nextAuthor: UInt8 = 0
    private var recent: UInt16 = 0
    var timestamp: UInt32 = 0
    /// The last counter of a text.
    var counter: UInt64 = 0
    /// The timestamp that was last echoed, and the link credit last said, by an ack.
    var echoed: UInt32 = 0
    var linkCredit: UInt64 = 0
    /// Of the last delivery.
    var acceptedAt: UInt64 = 0
    var authors: [Author?] = []
    var sessions = [Session(id: .control, priority: .urgent)]

    /// Bytes that a context takes, those of its owner's object included.
    var storageByteCount: Int {
        192 + sessions.capacity * MemoryLayout<Session>.stride + authors.capacity * MemoryLayout<Author?>.stride
    }

    /// The place of a session's state, made when it is not there; nil when there are too many.
    mutating func place(of id: SessionID) -> Int? {
        if let place = find(id) { return place }
        guard sessions.count < Self.maxSessionCount else { return nil }
        sessions.append(Session(id: id, priority: .normal))
        return sessions.count - 1
    }

    /// Whether a session has a state, or may get one.
    mutating func canName(_ id: SessionID) -> Bool {
        sessions.count < Self.maxSessionCount || find(id) != nil
    }

    private mutating func find(_ id: SessionID) -> Int? {
        if recent < sessions.count, sessions[Int(recent)].id == id { return Int(recent) }
        guard let place = sessions.firstIndex(where: { $0.id == id }) else { return nil }
        recent = UInt16(place)
        return place
    }

    /// The state of the session at a place.
    subscript(place: Int) -> Session {
        get { sessions[place] }
        set { sessions[place] = newValue }
    }

    /// The author at a place from 0 to 7; nil when none was defined there.
    func author(_ place: Int) -> Author? {
        place < authors.count ? authors[place] : nil
    }

    mutating func setAuthor(_ place: Int, _ author: Author) {
        while authors.count <= place { authors.append(nil) }
        authors[place] = author
    }

    /// Where an author is, or is to be put: in the place of whoever came first when all are taken.
    func author(_ device: UInt64, _ sender: RawSpan) -> (place: Int, isKnown: Bool) {
        for place in authors.indices where authors[place]?.device == device {
            if let author = authors[place], author.sender.rawBytes.hasSameBytes(as: sender) { return (place, true) }
        }
        return authors.count < Self.authorCount ? (authors.count, false) : (Int(nextAuthor), false)
    }

    /// An author's next message has this counter; returns by how much it is not the last one and 1.
    mutating func advance(_ author: Int, to counter: UInt64) -> UInt64 {
        let skipped = counter &- (authors[author]?.counter ?? 0) &- 1
        authors[author]?.counter = counter
        return skipped
    }

    /// A frame has passed whole.
    mutating func note(_ header: FrameHeader, at place: Int) {
        if header.session != .control { session = header.session }
        timestamp = header.timestamp
        sessions[place].priority = header.flags.priority
        if header.flags.contains(.reliable) { sessions[place].nextSequence = header.sequence &+ 1 }
    }
}

/// What a compact frame is, besides its body's shape: the lower six bits of its first byte (W-81).
enum CompactForm {
    static let mask: UInt8 = 0x3F
    static let hasLength: UInt8 = 0x80
    static let hasFields: UInt8 = 0x40

    /// Whether the body has a shape of its own, and is never compressed.
    static func isSpecial(_ form: UInt8) -> Bool { form >= text }

    /// Whether the body says by itself where it ends.
    static func isSelfDelimited(_ form: UInt8) -> Bool { (acceptedNext...ack).contains(form) }
}

/// The byte of fields: what a compact frame announces of its header (W-81).
struct CompactFields: OptionSet {
    let rawValue: UInt8

    static let session = CompactFields(rawValue: 0x01)
    static let sequence = CompactFields(rawValue: 0x02)
    static let timestamp = CompactFields(rawValue: 0x04)
    static let flags = CompactFields(rawValue: 0x08)
    static let type = CompactFields(rawValue: 0x10)
    static let compression = CompactFields(rawValue: 0x20)
    static let reserved = CompactFields(rawValue: 0xC0)
}

extension PacketContext {
    /// The session of a frame that does not announce one; nil when it has to.
    func session(of type: FrameType) -> SessionID? {
        type.rule?.scope == .control ? .control : session
    }

    /// The flags of a frame that does not announce them.
    func flags(of type: FrameType, at place: Int) -> FrameFlags {
        let flags: FrameFlags = type.rule?.isReliable == true ? [.reliable, .checksummed] : .checksummed
        return FrameFlags(flags, priority: sessions[place].priority)
    }
}
