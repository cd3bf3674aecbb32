/// The frame that accepts a hello: the parameters of the connection, and the data to resume the link on the next one
/// (W-36).
package struct Welcome: FrameBody {
    /// The type `welcome`, 0x4002.
    package static let type = FrameType.welcome

    /// The version of the wire format on this connection.
    package let version: WireVersion
    /// The features in effect on this connection.
    package let features: Features
    /// The limits in effect on this connection.
    package let limits: Limits
    /// The account as the server has authenticated it.
    package let account: AccountName
    /// The identifier of the link, for the next hello.
    package let link: LinkID
    /// The secret of the link, for one use in the next hello.
    package let resumeToken: ResumeToken
    /// The number of the link's connection. Frames of older connections are excluded by fencing.
    package let epoch: Epoch
    /// The duration for which the server keeps the link without a connection, in whole seconds.
    package let resumeLifetime: Duration
    /// The recommended interval between probes, in whole milliseconds.
    package let heartbeatInterval: Duration?
    /// The duration over which the clients of the server spread their attempts to reconnect, in whole milliseconds.
    package let reconnectSpread: Duration?
    /// The last message of the authentication exchange; nil without one.
    package let credential: Credential?
    /// The duration until the credential of the connection expires, in whole milliseconds; nil if it does not.
    package let credentialLifetime: Duration?
    /// The server's positions of the resumed link's sessions, at most 256, each session at most once; nil if the link
    /// is new.
    package let resumed: [SessionPosition]?

    /// Creates the frame. The durations are rounded down to the units of the wire format.
    ///
    /// - Precondition: There are at most ``ResumePoint/maxPositionCount`` positions, at most one of each session.
    package init(
        version: WireVersion = .current, features: Features, limits: Limits, account: AccountName, link: LinkID,
        resumeToken: ResumeToken, epoch: Epoch, resumeLifetime: Duration, heartbeatInterval: Duration? = nil,
        reconnectSpread: Duration? = nil, credential: Credential? = nil, credentialLifetime: Duration? = nil,
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
        self.reconnectSpread = reconnectSpread?.roundedDown(to: .milliseconds)
        self.credential = credential
        self.credentialLifetime = credentialLifetime?.roundedDown(to: .milliseconds)
        self.resumed = resumed
    }

    /// Creates the frame from its body.
    ///
    /// - Throws: The errors of ``FrameBody/init(parsing:)``.
    package init(parsing body: RawSpan) throws(WireError) {
        var version: WireVersion?
        var features: Features?
        var limits: Limits?
        var account: AccountName?
        var link: LinkID?
        var resumeToken: ResumeToken?
        var epoch: Epoch?
        var resumeLifetime: Duration?
        var heartbeatInterval: Duration?
        var reconnectSpread: Duration?
        var credential: Credential?
        var credentialLifetime: Duration?
        var resumed: [SessionPosition]?
        var reader = try TLVReader(wholeBody: body)
        while let field = try reader.next() {
            switch field.tag {
            case .spokenVersion: try version.fill(.spokenVersion, WireVersion(rawValue: field.uint16()))
            case .features: try features.fill(.features, Features(rawValue: field.uint64()))
            case .limits: try limits.fill(.limits, Limits(parsing: field))
            case .account: try account.fill(.account, field.name())
            case .link: try link.fill(.link, LinkID(rawValue: field.uint64()))
            case .resumeToken: try resumeToken.fill(.resumeToken, field.resumeToken())
            case .epoch: try epoch.fill(.epoch, Epoch(rawValue: field.uint32()))
            case .resumeLifetime: try resumeLifetime.fill(.resumeLifetime, field.duration(.seconds))
            case .heartbeatInterval: try heartbeatInterval.fill(.heartbeatInterval, field.duration(.milliseconds))
            case .reconnectSpread: try reconnectSpread.fill(.reconnectSpread, field.duration(.milliseconds))
            case .credential: try credential.fill(.credential, Credential(parsing: field))
            case .credentialLifetime: try credentialLifetime.fill(.credentialLifetime, field.duration(.milliseconds))
            case .resume: try resumed.fill(.resume, [SessionPosition](parsing: field))
            default: try field.skip()
            }
        }
        self.init(
            version: try version.required(.spokenVersion), features: try features.required(.features),
            limits: try limits.required(.limits), account: try account.required(.account),
            link: try link.required(.link), resumeToken: try resumeToken.required(.resumeToken),
            epoch: try epoch.required(.epoch), resumeLifetime: try resumeLifetime.required(.resumeLifetime),
            heartbeatInterval: heartbeatInterval, reconnectSpread: reconnectSpread, credential: credential,
            credentialLifetime: credentialLifetime, resumed: resumed)
    }

    /// Appends the fields of the body.
    package func encode(into writer: inout TLVWriter) {
        writer.append(.spokenVersion, uint16: version.rawValue)
        writer.append(.features, uint64: features.rawValue)
        limits.encode(into: &writer)
        writer.append(.account, name: account)
        writer.append(.link, uint64: link.rawValue)
        writer.append(.resumeToken, bytes: resumeToken.bytes)
        writer.append(.epoch, uint32: epoch.rawValue)
        writer.append(.resumeLifetime, duration: resumeLifetime, .seconds)
        if let heartbeatInterval { writer.append(.heartbeatInterval, duration: heartbeatInterval, .milliseconds) }
        if let reconnectSpread { writer.append(.reconnectSpread, duration: reconnectSpread, .milliseconds) }
        credential?.encode(into: &writer)
        if let credentialLifetime { writer.append(.credentialLifetime, duration: credentialLifetime, .milliseconds) }
        if let resumed {
            writer.container(.resume) { container in
                for position in resumed { container.append(.sessionPosition, position: position) }
            }
        }
    }
}
