/// The answer to a hello that is accepted: what holds on this connection, and how to take up the link on the next
/// (W-36).
public struct Welcome: FrameBody {
    /// `welcome`, 0x4002.
    public static let type = FrameType.welcome

    /// The version chosen.
    public let version: WireVersion
    /// What holds on this connection.
    public let features: Features
    /// What holds on this connection.
    public let limits: Limits
    /// The account as the server knows it.
    public let account: AccountName
    /// The link's name, for the next hello.
    public let link: LinkID
    /// The link's secret, for the next hello, to be used once.
    public let resumeToken: ResumeToken
    /// Which of the link's connections this is; frames from older ones are fenced off.
    public let epoch: Epoch
    /// How long the link is kept without a connection, in whole seconds.
    public let resumeLifetime: Duration
    /// The server's hint for the interval between probes, in whole milliseconds.
    public let heartbeatInterval: Duration?
    /// What the server had received on each session of the link taken up again, at most 256 and each session once; nil
    /// when the link is new.
    public let resumed: [SessionPosition]?

    /// A welcome; the durations are rounded down to the wire's units.
    ///
    /// - Precondition: at most ``ResumePoint/maxPositionCount`` positions, no session twice.
    public init(
        version: WireVersion = .current, features: Features, limits: Limits, account: AccountName, link: LinkID,
        resumeToken: ResumeToken, epoch: Epoch, resumeLifetime: Duration, heartbeatInterval: Duration? = nil,
        resumed: [SessionPosition]? = nil
    ) {
        if let resumed {
            precondition(resumed.count <= ResumePoint.maxPositionCount, "more positions than a frame may name")
            precondition(resumed.namesEachSessionOnce, "a session named twice")
        }
        self.version = version
        self.features = features
        self.limits = limits
        self.account = account
        self.link = link
        self.resumeToken = resumeToken
        self.epoch = epoch
        self.resumeLifetime = resumeLifetime.roundedDown(to: .seconds)
        self.heartbeatInterval = heartbeatInterval?.roundedDown(to: .milliseconds)
        self.resumed = resumed
    }

    /// Parses a whole body; see ``FrameBody`` for the errors.
    public init(parsing body: RawSpan) throws(WireError) {
        var version: WireVersion?
        var features: Features?
        var limits: Limits?
        var account: AccountName?
        var link: LinkID?
        var resumeToken: ResumeToken?
        var epoch: Epoch?
        var resumeLifetime: Duration?
        var heartbeatInterval: Duration?
        var resumed: [SessionPosition]?
        var reader = try TLVReader(wholeBody: body)
        while let field = try reader.next() {
            switch field.tag {
            case .spokenVersion: try version.fill(.spokenVersion, field.version())
            case .features: try features.fill(.features, Features(rawValue: field.uint64()))
            case .limits: try limits.fill(.limits, Limits(parsing: field))
            case .account: try account.fill(.account, field.name())
            case .link: try link.fill(.link, LinkID(rawValue: field.uint64()))
            case .resumeToken: try resumeToken.fill(.resumeToken, field.resumeToken())
            case .epoch: try epoch.fill(.epoch, Epoch(rawValue: field.uint32()))
            case .resumeLifetime: try resumeLifetime.fill(.resumeLifetime, field.duration(.seconds))
            case .heartbeatInterval: try heartbeatInterval.fill(.heartbeatInterval, field.duration(.milliseconds))
            case .resume: try resumed.fill(.resume, [SessionPosition](parsing: field))
            default: try field.skip()
            }
        }
        self.init(
            version: try version.required(.spokenVersion), features: try features.required(.features),
            limits: try limits.required(.limits), account: try account.required(.account),
            link: try link.required(.link), resumeToken: try resumeToken.required(.resumeToken),
            epoch: try epoch.required(.epoch), resumeLifetime: try resumeLifetime.required(.resumeLifetime),
            heartbeatInterval: heartbeatInterval, resumed: resumed)
    }

    /// Appends the body's fields.
    public func encode(into writer: inout TLVWriter) {
        writer.append(.spokenVersion, version: version)
        writer.append(.features, uint64: features.rawValue)
        limits.encode(into: &writer)
        writer.append(.account, name: account)
        writer.append(.link, uint64: link.rawValue)
        writer.append(.resumeToken, bytes: resumeToken.bytes)
        writer.append(.epoch, uint32: epoch.rawValue)
        writer.append(.resumeLifetime, duration: resumeLifetime, .seconds)
        if let heartbeatInterval { writer.append(.heartbeatInterval, duration: heartbeatInterval, .milliseconds) }
        if let resumed {
            writer.container(.resume) { container in
                for position in resumed { container.append(.sessionPosition, position: position) }
            }
        }
    }
}
