/// What a side is willing to hold. Each side says its own; the lower of each holds for both directions.
public struct Limits: Hashable, Sendable {
    /// The longest body of a frame as sent, in bytes.
    public var maxBodyByteCount: Int { Int(maxBody) }
    /// The longest body of a whole message after reassembly and inflating, in bytes.
    public var maxMessageByteCount: Int { Int(maxMessage) }
    /// Bytes of bodies that may be under way on a link before more credit arrives.
    public var linkWindow: Int { Int(linkBytes) }
    /// Bytes of bodies that may be under way on a session before more credit arrives.
    public var sessionWindow: Int { Int(sessionBytes) }
    /// Sessions open on a link at once.
    public var maxSessions: Int { Int(sessionCount) }

    /// As wide as on the wire: each link keeps a copy.
    private let maxBody: UInt32
    private let maxMessage: UInt32
    private let linkBytes: UInt32
    private let sessionBytes: UInt32
    private let sessionCount: UInt16

    /// The least a side may offer: a body holds one fragment of 16 KiB and 1 KiB of what surrounds it, a window holds
    /// one such body.
    public static let minimum = Limits(
        unchecked: leastMaxBody, maxMessageByteCount: leastMaxMessage, linkWindow: leastLinkWindow,
        sessionWindow: leastSessionWindow, maxSessions: leastMaxSessions)

    /// The longest body before the handshake is done, in bytes: a hello with everything in it takes less than 9 KiB,
    /// the rest is room for later minors (W-7).
    public static let maxHandshakeBodyByteCount = 12 << 10

    /// Limits to offer.
    ///
    /// - Precondition: each is at least ``minimum``'s and fits in 32 bits (`maxSessions` in 16); a body is at most 1
    ///   GiB.
    public init(
        maxBodyByteCount: Int = 64 << 10, maxMessageByteCount: Int = 1 << 20, linkWindow: Int = 1 << 20,
        sessionWindow: Int = 256 << 10, maxSessions: Int = 255
    ) {
        self.init(
            unchecked: maxBodyByteCount, maxMessageByteCount: maxMessageByteCount, linkWindow: linkWindow,
            sessionWindow: sessionWindow, maxSessions: maxSessions)
        precondition(firstTagBelowMinimum == nil, "limits below the protocol's minimum")
        precondition(maxBodyByteCount <= FrameHeader.largestBodyByteCount, "bodies beyond what a framer takes")
        let widest = max(maxMessageByteCount, max(linkWindow, sessionWindow))
        precondition(UInt32(exactly: widest) != nil, "limits beyond 32 bits")
        precondition(UInt16(exactly: maxSessions) != nil, "more sessions than SessionIDs")
    }

    /// What holds between this side and `other`: the lower of each (W-42).
    public func negotiated(with other: Limits) -> Limits {
        Limits(
            unchecked: min(maxBodyByteCount, other.maxBodyByteCount),
            maxMessageByteCount: min(maxMessageByteCount, other.maxMessageByteCount),
            linkWindow: min(linkWindow, other.linkWindow), sessionWindow: min(sessionWindow, other.sessionWindow),
            maxSessions: min(maxSessions, other.maxSessions))
    }

    private init(
        unchecked maxBodyByteCount: Int, maxMessageByteCount: Int, linkWindow: Int, sessionWindow: Int, maxSessions: Int
    ) {
        maxBody = UInt32(clamping: maxBodyByteCount)
        maxMessage = UInt32(clamping: maxMessageByteCount)
        linkBytes = UInt32(clamping: linkWindow)
        sessionBytes = UInt32(clamping: sessionWindow)
        self.sessionCount = UInt16(clamping: maxSessions)
    }

    private var firstTagBelowMinimum: Tag? {
        if maxBodyByteCount < Self.minimum.maxBodyByteCount { return .maxBody }
        if maxMessageByteCount < Self.minimum.maxMessageByteCount { return .maxMessage }
        if linkWindow < Self.minimum.linkWindow { return .linkWindow }
        if sessionWindow < Self.minimum.sessionWindow { return .sessionWindow }
        if maxSessions < Self.minimum.maxSessions { return .maxSessions }
        return nil
    }

    init(parsing container: TLVView) throws(WireError) {
        var maxBody: UInt32?
        var maxMessage: UInt32?
        var linkWindow: UInt32?
        var sessionWindow: UInt32?
        var maxSessions: UInt16?
        var reader = container.reader()
        while let field = try reader.next() {
            switch field.tag {
            case .maxBody: try maxBody.fill(.maxBody, field.uint32())
            case .maxMessage: try maxMessage.fill(.maxMessage, field.uint32())
            case .linkWindow: try linkWindow.fill(.linkWindow, field.uint32())
            case .sessionWindow: try sessionWindow.fill(.sessionWindow, field.uint32())
            case .maxSessions: try maxSessions.fill(.maxSessions, field.uint16())
            default: try field.skip()
            }
        }
        self.init(
            unchecked: Int(clamping: try maxBody.required(.maxBody)),
            maxMessageByteCount: Int(clamping: try maxMessage.required(.maxMessage)),
            linkWindow: Int(clamping: try linkWindow.required(.linkWindow)),
            sessionWindow: Int(clamping: try sessionWindow.required(.sessionWindow)),
            maxSessions: Int(try maxSessions.required(.maxSessions)))
        if let tag = firstTagBelowMinimum { throw .invalidValue(tag) }
    }

    func encode(into writer: inout TLVWriter) {
        writer.container(.limits) { limits in
            limits.append(.maxBody, uint32: UInt32(maxBodyByteCount))
            limits.append(.maxMessage, uint32: UInt32(maxMessageByteCount))
            limits.append(.linkWindow, uint32: UInt32(linkWindow))
            limits.append(.sessionWindow, uint32: UInt32(sessionWindow))
            limits.append(.maxSessions, uint16: UInt16(maxSessions))
        }
    }
}
