/// The first frame of a client: its account and device, its versions and features, and the link to resume (W-33).
public struct Hello: FrameBody {
    /// The type `hello`, 0x4001.
    public static let type = FrameType.hello
    /// The maximum number of versions in a frame.
    public static let maxVersionCount = 16

    /// The versions that the client supports, 1 to 16.
    public let spokenVersions: [WireVersion]
    /// The features of the client.
    public let features: Features
    /// The limits of the client.
    public let limits: Limits
    /// The device of the client. Other frames omit it.
    public let device: DeviceID
    /// The account of the client.
    public let account: AccountName
    /// The mechanism of the authentication exchange that the credential begins; nil if the credential is a token.
    public let mechanism: MechanismName?
    /// The proof of the account, or the first message of the exchange; nil if the server requires none.
    public let credential: Credential?
    /// The name and version of the program, as text for people, at most 128 bytes.
    public let agent: String?
    /// The link to resume; nil for a new link.
    public let resume: ResumePoint?

    /// Creates the frame. `agent` is truncated to 128 bytes.
    ///
    /// - Precondition: There are 1 to ``maxVersionCount`` versions.
    public init(
        spokenVersions: [WireVersion] = [.current], features: Features = .supported, limits: Limits = Limits(),
        device: DeviceID, account: AccountName, mechanism: MechanismName? = nil, credential: Credential? = nil,
        agent: String? = nil, resume: ResumePoint? = nil
    ) {
        precondition((1...Self.maxVersionCount).contains(spokenVersions.count), "hello names 1…16 versions")
        self.spokenVersions = spokenVersions
        self.features = features
        self.limits = limits
        self.device = device
        self.account = account
        self.mechanism = mechanism
        self.credential = credential
        self.agent = agent?.clipped(toByteCount: FreeText.maxAgentByteCount)
        self.resume = resume
    }

    /// Creates the frame from its body.
    ///
    /// - Throws: The errors of ``FrameBody/init(parsing:)``.
    public init(parsing body: RawSpan) throws(WireError) {
        var spokenVersions: [WireVersion] = []
        var features: Features?
        var limits: Limits?
        var device: DeviceID?
        var account: AccountName?
        var mechanism: MechanismName?
        var credential: Credential?
        var agent: String?
        var resume: ResumePoint?
        var reader = try TLVReader(wholeBody: body)
        while let field = try reader.next() {
            switch field.tag {
            case .spokenVersion: try spokenVersions.append(field.version(), limit: Self.maxVersionCount)
            case .features: try features.fill(.features, Features(rawValue: field.uint64()))
            case .limits: try limits.fill(.limits, Limits(parsing: field))
            case .device: try device.fill(.device, DeviceID(rawValue: field.uint64()))
            case .account: try account.fill(.account, field.name())
            case .mechanism: try mechanism.fill(.mechanism, field.name())
            case .credential: try credential.fill(.credential, field.credential())
            case .agent: try agent.fill(.agent, field.string(maxByteCount: FreeText.maxAgentByteCount))
            case .resume: try resume.fill(.resume, ResumePoint(parsing: field))
            default: try field.skip()
            }
        }
        guard !spokenVersions.isEmpty else { throw .missingField(.spokenVersion) }
        self.init(
            spokenVersions: spokenVersions, features: try features.required(.features),
            limits: try limits.required(.limits), device: try device.required(.device),
            account: try account.required(.account), mechanism: mechanism, credential: credential, agent: agent,
            resume: resume)
    }

    /// Appends the fields of the body.
    public func encode(into writer: inout TLVWriter) {
        for version in spokenVersions { writer.append(.spokenVersion, version: version) }
        writer.append(.features, uint64: features.rawValue)
        limits.encode(into: &writer)
        writer.append(.device, uint64: device.rawValue)
        writer.append(.account, name: account)
        if let mechanism { writer.append(.mechanism, name: mechanism) }
        if let credential { writer.append(.credential, bytes: credential.bytes) }
        if let agent { writer.append(.agent, string: agent) }
        resume?.encode(into: &writer)
    }
}
