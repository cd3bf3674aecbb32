/// A context in few bytes, for a connection that nothing happens on.
///
/// Of the direction and of each session a byte of bits says what is there; the rest is zero, or what it mostly is:
///
///     bits │ what the direction has │ sessions − 1 │ bits and numbers of each │ authors │ each
///
/// A context that nothing has been said in is no bytes, and authors take none where there are none. These bytes never
/// leave the process, so one that cannot be read is a mistake of ours.
///
/// Whoever adds a member to `PacketContext` adds it here. Only what is found again is left out, as where it was looked
/// last.
extension PacketContext {
    private static let usualLimits = Limits()

    private struct Parts: OptionSet {
        let rawValue: UInt8

        static let session = Parts(rawValue: 0x01)
        static let timestamp = Parts(rawValue: 0x02)
        static let counter = Parts(rawValue: 0x04)
        static let echoed = Parts(rawValue: 0x08)
        static let linkCredit = Parts(rawValue: 0x10)
        static let acceptedAt = Parts(rawValue: 0x20)
        static let nextAuthor = Parts(rawValue: 0x40)
        static let hasSaidTime = Parts(rawValue: 0x80)
    }

    private struct SessionParts: OptionSet {
        let rawValue: UInt8

        static let nextSequence = SessionParts(rawValue: 0x01)
        static let priority = SessionParts(rawValue: 0x02)
        static let offset = SessionParts(rawValue: 0x04)
        static let acceptedCounter = SessionParts(rawValue: 0x08)
        static let acceptedOffset = SessionParts(rawValue: 0x10)
        static let cumulative = SessionParts(rawValue: 0x20)
        static let creditLimit = SessionParts(rawValue: 0x40)
    }

    /// The context as bytes; none when it is as at the beginning.
    var packed: [UInt8] {
        let parts = parts
        if parts.isEmpty, sessions.count == 1, Self.parts(of: sessions[0]).isEmpty, authors.isEmpty { return [] }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(48)
        bytes.append(parts.rawValue)
        if parts.contains(.session), let session { bytes.append(varint: UInt64(session.rawValue)) }
        if parts.contains(.timestamp) { bytes.append(varint: UInt64(timestamp)) }
        if parts.contains(.counter) { bytes.append(varint: counter) }
        if parts.contains(.echoed) { bytes.append(varint: UInt64(echoed)) }
        if parts.contains(.linkCredit) {
            bytes.append(signedVarint: linkCredit &- UInt64(Self.usualLimits.linkWindow))
        }
        if parts.contains(.acceptedAt) { bytes.append(varint: acceptedAt) }
        if parts.contains(.nextAuthor) { bytes.append(varint: UInt64(nextAuthor)) }
        bytes.append(varint: UInt64(sessions.count - 1))
        for session in sessions { Self.append(session, to: &bytes) }
        guard !authors.isEmpty else { return bytes }
        bytes.append(varint: UInt64(authors.count))
        for author in authors {
            bytes.append(varint: UInt64(author?.sender.count ?? 0))
            guard let author else { continue }
            bytes += author.sender
            bytes.append(bigEndian: author.device)
            bytes.append(varint: author.counter)
        }
        return bytes
    }

    /// The context that was ``packed``.
    init(unpacking bytes: RawSpan) {
        self.init()
        guard bytes.byteCount > 0 else { return }
        var cursor = PacketCursor(bytes)
        do throws(WireError) {
            try unpack(&cursor)
        } catch {
            preconditionFailure("a context that was not packed: \(error)")
        }
    }

    private mutating func unpack(_ cursor: inout PacketCursor) throws(WireError) {
        let parts = Parts(rawValue: try cursor.uint8())
        if parts.contains(.session) { session = SessionID(rawValue: try cursor.varint(as: UInt16.self)) }
        if parts.contains(.timestamp) { timestamp = try cursor.varint(as: UInt32.self) }
        if parts.contains(.counter) { counter = try cursor.varint() }
        if parts.contains(.echoed) { echoed = try cursor.varint(as: UInt32.self) }
        if parts.contains(.linkCredit) {
            linkCredit = try cursor.signedVarint() &+ UInt64(Self.usualLimits.linkWindow)
        }
        if parts.contains(.acceptedAt) { acceptedAt = try cursor.varint() }
        if parts.contains(.nextAuthor) { nextAuthor = Int(try cursor.varint(as: UInt8.self)) }
        hasSaidTime = parts.contains(.hasSaidTime)
        let count = 1 + Int(try cursor.varint(as: UInt8.self))
        sessions = []
        sessions.reserveCapacity(count)
        while sessions.count < count {
            sessions.append(try Self.session(&cursor, isControl: sessions.isEmpty))
        }
        guard !cursor.isAtEnd else { return }
        for _ in 0..<(try cursor.varint(as: UInt8.self)) {
            let sender = [UInt8](copying: try cursor.bytes(try cursor.varint()))
            guard !sender.isEmpty else {
                authors.append(nil)
                continue
            }
            authors.append(Author(device: try cursor.uint64(), sender: sender, counter: try cursor.varint()))
        }
    }

    private var parts: Parts {
        var parts: Parts = []
        if session != nil { parts.insert(.session) }
        if timestamp != 0 { parts.insert(.timestamp) }
        if counter != 0 { parts.insert(.counter) }
        if echoed != 0 { parts.insert(.echoed) }
        if linkCredit != 0 { parts.insert(.linkCredit) }
        if acceptedAt != 0 { parts.insert(.acceptedAt) }
        if nextAuthor != 0 { parts.insert(.nextAuthor) }
        if hasSaidTime { parts.insert(.hasSaidTime) }
        return parts
    }

    // MARK: Sessions

    /// What most sessions say theirs is: people talk in them.
    private static func usualPriority(of id: SessionID) -> Priority { id == .control ? .urgent : .high }

    private static func parts(of session: Session) -> SessionParts {
        var parts: SessionParts = []
        if session.nextSequence != nil { parts.insert(.nextSequence) }
        if session.priority != usualPriority(of: session.id) { parts.insert(.priority) }
        if session.offset != 0 { parts.insert(.offset) }
        if session.acceptedCounter != 0 { parts.insert(.acceptedCounter) }
        if session.acceptedOffset != 0 { parts.insert(.acceptedOffset) }
        if session.cumulative != 0 { parts.insert(.cumulative) }
        if session.creditLimit != 0 { parts.insert(.creditLimit) }
        return parts
    }

    /// The control session, which is the first, is not named.
    private static func append(_ session: Session, to bytes: inout [UInt8]) {
        let parts = parts(of: session)
        bytes.append(parts.rawValue)
        if session.id != .control { bytes.append(varint: UInt64(session.id.rawValue)) }
        if let next = session.nextSequence { bytes.append(varint: UInt64(next)) }
        if parts.contains(.priority) { bytes.append(session.priority.rawValue) }
        if parts.contains(.offset) { bytes.append(varint: session.offset) }
        if parts.contains(.acceptedCounter) { bytes.append(varint: session.acceptedCounter) }
        if parts.contains(.acceptedOffset) { bytes.append(varint: session.acceptedOffset) }
        if parts.contains(.cumulative) { bytes.append(varint: session.cumulative) }
        if parts.contains(.creditLimit) {
            bytes.append(signedVarint: session.creditLimit &- UInt64(usualLimits.sessionWindow))
        }
    }

    private static func session(_ cursor: inout PacketCursor, isControl: Bool) throws(WireError) -> Session {
        let parts = SessionParts(rawValue: try cursor.uint8())
        let id = isControl ? .control : SessionID(rawValue: try cursor.varint(as: UInt16.self))
        var session = Session(id: id, priority: usualPriority(of: id))
        if parts.contains(.nextSequence) { session.nextSequence = try cursor.varint(as: UInt32.self) }
        if parts.contains(.priority), let said = Priority(rawValue: try cursor.uint8()) { session.priority = said }
        if parts.contains(.offset) { session.offset = try cursor.varint() }
        if parts.contains(.acceptedCounter) { session.acceptedCounter = try cursor.varint() }
        if parts.contains(.acceptedOffset) { session.acceptedOffset = try cursor.varint() }
        if parts.contains(.cumulative) { session.cumulative = try cursor.varint() }
        if parts.contains(.creditLimit) {
            session.creditLimit = try cursor.signedVarint() &+ UInt64(usualLimits.sessionWindow)
        }
        return session
    }
}
