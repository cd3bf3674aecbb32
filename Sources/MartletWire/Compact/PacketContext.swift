/// The values of earlier frames that compact frames of one direction of a connection omit (W-84).
///
/// The writer and the reader each own a context. Both remain equal, because a carrier preserves the order of bytes and
/// each frame changes the context only after it was written or parsed completely.
struct PacketContext {
    /// The maximum number of sessions that compact frames of a connection can name (W-85).
    static let maxSessionCount = 256
    /// The number of authors to which deliveries can refer.
    static let authorCount = 8

    /// The device and the account of a publisher, and the counter of its latest message.
    struct Author: Equatable {
        var device: UInt64
        var sender: [UInt8]
        var counter: UInt64 = 0
    }

    /// The values of the latest frames of one session.
    struct Session {
        let id: SessionID
        var nextSequence: UInt32?
        var priority: Priority
        /// The offset of the latest delivery.
        var offset: UInt64 = 0
        /// The last counter and the last offset of the latest run in an `accepted`.
        var acceptedCounter: UInt64 = 0
        var acceptedOffset: UInt64 = 0
        /// The cumulative sequence and the credit limit of the latest `ack`.
        var cumulative: UInt64 = 0
        var creditLimit: UInt64 = 0
    }

    /// The latest session other than the control session.
    var session: SessionID?
    /// Whether a frame has contained its timestamp. Only the writer uses this value.
    var hasWrittenTimestamp = false
    /// The index that the next author replaces when all indices are in use. Only the writer uses this value.
    var nextAuthor: UInt8 = 0
    private var recent: UInt16 = 0
    var timestamp: UInt32 = 0
    /// The counter of the latest text.
    var counter: UInt64 = 0
    /// The latest echoed timestamp and the latest link credit of an `ack`.
    var echoed: UInt32 = 0
    var linkCredit: UInt64 = 0
    /// The acceptance time of the latest delivery.
    var acceptedAt: UInt64 = 0
    var authors: [Author?] = []
    var sessions = [Session(id: .control, priority: .urgent)]

    /// The number of bytes that the context occupies, those of its owner's object included.
    var storageByteCount: Int {
        192 + sessions.capacity * MemoryLayout<Session>.stride + authors.capacity * MemoryLayout<Author?>.stride
    }

    /// Returns the index of a session's state, which is created if necessary; nil if the maximum number of sessions is
    /// reached.
    mutating func index(of id: SessionID) -> Int? {
        if let index = find(id) { return index }
        guard sessions.count < Self.maxSessionCount else { return nil }
        sessions.append(Session(id: id, priority: .normal))
        return sessions.count - 1
    }

    /// Returns whether a session has a state or can receive one.
    mutating func canName(_ id: SessionID) -> Bool {
        sessions.count < Self.maxSessionCount || find(id) != nil
    }

    private mutating func find(_ id: SessionID) -> Int? {
        if recent < sessions.count, sessions[Int(recent)].id == id { return Int(recent) }
        guard let index = sessions.firstIndex(where: { $0.id == id }) else { return nil }
        recent = UInt16(index)
        return index
    }

    /// The state of the session at an index.
    subscript(index: Int) -> Session {
        get { sessions[index] }
        set { sessions[index] = newValue }
    }

    /// Returns the author at an index from 0 to 7; nil if none is defined.
    func author(_ index: Int) -> Author? {
        index < authors.count ? authors[index] : nil
    }

    mutating func setAuthor(_ index: Int, _ author: Author) {
        while authors.count <= index { authors.append(nil) }
        authors[index] = author
    }

    /// Returns the index of an author and whether the author is defined there. An unknown author receives a free index,
    /// or replaces the oldest one.
    func author(_ device: UInt64, _ sender: RawSpan) -> (index: Int, isKnown: Bool) {
        for index in authors.indices where authors[index]?.device == device {
            if let author = authors[index], author.sender.rawBytes.hasSameBytes(as: sender) { return (index, true) }
        }
        return authors.count < Self.authorCount ? (authors.count, false) : (Int(nextAuthor), false)
    }

    /// Sets the counter of an author's latest message. Returns the difference from the expected counter, modulo 2⁶⁴.
    mutating func advance(_ author: Int, to counter: UInt64) -> UInt64 {
        let skipped = counter &- (authors[author]?.counter ?? 0) &- 1
        authors[author]?.counter = counter
        return skipped
    }

    /// Records the header of a frame that was written or parsed completely.
    mutating func note(_ header: FrameHeader, at index: Int) {
        if header.session != .control { session = header.session }
        timestamp = header.timestamp
        sessions[index].priority = header.flags.priority
        if header.flags.contains(.reliable) { sessions[index].nextSequence = header.sequence &+ 1 }
    }
}

/// The form of a compact frame: the lower six bits of its first byte (W-81).
enum CompactForm {
    static let mask: UInt8 = 0x3F
    static let hasLength: UInt8 = 0x80
    static let hasFields: UInt8 = 0x40

    /// Returns whether the form defines its own layout of the body. Such a body is never compressed.
    static func isSpecial(_ form: UInt8) -> Bool { form >= text }

    /// Returns whether the body indicates its own end.
    static func isSelfDelimited(_ form: UInt8) -> Bool { (acceptedNext...ack).contains(form) }
}

/// The second byte of a compact frame: the fields of its header that it contains (W-81).
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
    /// Returns the session of a frame that omits it; nil if the frame must contain it.
    func session(of type: FrameType) -> SessionID? {
        type.rule?.scope == .control ? .control : session
    }

    /// Returns the flags of a frame that omits them.
    func flags(of type: FrameType, at index: Int) -> FrameFlags {
        let flags: FrameFlags = type.rule?.isReliable == true ? [.reliable, .checksummed] : .checksummed
        return FrameFlags(flags, priority: sessions[index].priority)
    }
}
