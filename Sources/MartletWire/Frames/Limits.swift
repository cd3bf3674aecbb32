/// The limits of an endpoint. Both endpoints send theirs, and the lower value of each limit is in effect in both
/// directions.
public struct Limits: Hashable, Sendable {
    /// The maximum number of bytes of a frame's body, as sent.
    public var maxBodyByteCount: Int { Int(maxBody) }
    /// The maximum number of bytes of a message's body, after reassembly and inflating.
    public var maxMessageByteCount: Int { Int(maxMessage) }
    /// The credit window of the link: the number of bytes of bodies in flight before further credit is granted.
    public var linkWindow: Int { Int(linkBytes) }
    /// The credit window of a session: the number of bytes of bodies in flight before further credit is granted.
    public var sessionWindow: Int { Int(sessionBytes) }
    /// The maximum number of sessions of a link that are open at the same time, beside session 0.
    public var maxSessions: Int { Int(sessionCount) }

    /// The properties have the widths of the wire format, because each link keeps a copy.
    private let maxBody: UInt32
    private let maxMessage: UInt32
    private let linkBytes: UInt32
    private let sessionBytes: UInt32
    private let sessionCount: UInt16

    /// The lowest permitted limits: a body holds one fragment of 16 KiB and 1 KiB of other fields, and a window holds
    /// one such body.
    package static let minimum = Limits(
        unchecked: leastMaxBody, maxMessageByteCount: leastMaxMessage, linkWindow: leastLinkWindow,
        sessionWindow: leastSessionWindow, maxSessions: leastMaxSessions)

    /// The maximum number of bytes of a body before the end of the handshake. A hello with all fields of version 1.0
    /// has less than 9 KiB; the rest is reserved for later minor versions (W-7).
    package static let maxHandshakeBodyByteCount = 12 << 10

    /// Creates limits.
    ///
    /// - Precondition: Every limit is at least that of `minimum` and fits into 32 bits, `maxSessions` into 16. A body
    ///   has at most 1 GiB.
    public init(
        maxBodyByteCount: Int = 64 << 10, maxMessageByteCount: Int = 1 << 20, linkWindow: Int = 1 << 20,
        sessionWindow: Int = 256 << 10, maxSessions: Int = 255
    ) {
        self.init(
            unchecked: maxBodyByteCount, maxMessageByteCount: maxMessageByteCount, linkWindow: linkWindow,
            sessionWindow: sessionWindow, maxSessions: maxSessions)
        precondition(firstTagBelowMinimum == nil, "a limit is below the minimum of the protocol")
        precondition(maxBodyByteCount <= FrameHeader.largestBodyByteCount, "maxBodyByteCount exceeds 1 GiB")
        let widest = max(maxMessageByteCount, max(linkWindow, sessionWindow))
        precondition(UInt32(exactly: widest) != nil, "a limit exceeds 32 bits")
        precondition(UInt16(exactly: maxSessions) != nil, "maxSessions exceeds 16 bits")
    }

    /// Returns the limits that are in effect between two endpoints: the lower value of each (W-42).
    package func negotiated(with other: Limits) -> Limits {
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
