/// The position of one session.
package struct SessionPosition: Hashable, Sendable {
    /// The session.
    package var session: SessionID
    /// The highest sequence received in order; 0 if no frame has been received.
    package var received: UInt64

    /// Creates the position of a session.
    package init(session: SessionID, received: UInt64) {
        self.session = session
        self.received = received
    }
}

/// The state of a link that a client presents in its next hello to resume the link (W-45).
package struct ResumePoint: Equatable, Sendable {
    /// The maximum number of positions.
    package static let maxPositionCount = 256

    /// The link.
    package let link: LinkID
    /// The token from welcome.
    package let token: ResumeToken
    /// The positions of this endpoint's sessions, each session at most once.
    package let positions: [SessionPosition]

    /// Creates a resume point.
    ///
    /// - Precondition: There are at most ``maxPositionCount`` positions, at most one of each session.
    package init(link: LinkID, token: ResumeToken, positions: [SessionPosition]) {
        precondition(positions.count <= Self.maxPositionCount, "more positions than a frame may name")
        precondition(positions.namesEachSessionOnce, "a session named twice")
        self.link = link
        self.token = token
        self.positions = positions
    }

    init(parsing container: TLVView) throws(WireError) {
        var link: LinkID?
        var token: ResumeToken?
        var positions: [SessionPosition] = []
        var reader = container.reader()
        while let field = try reader.next() {
            switch field.tag {
            case .link: try link.fill(.link, LinkID(rawValue: field.uint64()))
            case .resumeToken: try token.fill(.resumeToken, field.resumeToken())
            case .sessionPosition: try positions.append(field.sessionPosition(), limit: Self.maxPositionCount)
            default: try field.skip()
            }
        }
        guard positions.namesEachSessionOnce else { throw .duplicateField(.sessionPosition) }
        self.link = try link.required(.link)
        self.token = try token.required(.resumeToken)
        self.positions = positions
    }

    func encode(into writer: inout TLVWriter) {
        writer.container(.resume) { resume in
            resume.append(.link, uint64: link.rawValue)
            resume.append(.resumeToken, bytes: token.bytes)
            for position in positions { resume.append(.sessionPosition, position: position) }
        }
    }
}

extension [SessionPosition] {
    var namesEachSessionOnce: Bool {
        var seen: Set<SessionID> = []
        return allSatisfy { seen.insert($0.session).inserted }
    }

    /// Parses a container that contains positions only.
    init(parsing container: TLVView) throws(WireError) {
        self = []
        var reader = container.reader()
        while let field = try reader.next() {
            switch field.tag {
            case .sessionPosition: try append(field.sessionPosition(), limit: ResumePoint.maxPositionCount)
            default: try field.skip()
            }
        }
        guard namesEachSessionOnce else { throw .duplicateField(.sessionPosition) }
    }
}

extension TLVView {
    func sessionPosition() throws(WireError) -> SessionPosition {
        guard value.byteCount == 10 else { throw .invalidValue(tag) }
        return SessionPosition(session: SessionID(rawValue: value.loadUInt16(at: 0)), received: value.loadUInt64(at: 2))
    }
}

extension TLVWriter {
    mutating func append(_ tag: Tag, position: SessionPosition) {
        appendHead(tag, followedBy: 10)
        appendRaw(position.session.rawValue)
        appendRaw(position.received)
    }
}
