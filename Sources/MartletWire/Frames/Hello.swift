/// A client's first frame: who it is, what it speaks, and the link it wants to take up again (W-33).
public struct Hello: FrameBody {
    /// `hello`, 0x4001.
    public static let type = FrameType.hello
    /// The most versions named.
    public static let maxVersionCount = 16

    /// What the client speaks, 1…16 versions.
    public let spokenVersions: [WireVersion]
    /// What the client can do.
    public let features: Features
    /// What the client is willing to hold.
    public let limits: Limits
    /// The device, said once: messages name only their counter.
    public let device: DeviceID
    /// The account that the device signs in to.
    public let account: AccountName
    /// The proof.
    public let credential: Credential?
    /// The program's name and version, for people, at most 128 bytes.
    public let agent: String?
    /// The link to take up again; nil for a new one.
    public let resume: ResumePoint?

    /// A hello; `agent` is cut to 128 bytes.
    ///
    /// - Precondition: 1…``maxVersionCount`` versions.
    public init(
        spokenVersions: [WireVersion] = [.current], features: Features = .supported, limits: Limits = Limits(),
        device: DeviceID, account: AccountName, credential: Credential? = nil, agent: String? = nil,
        resume: ResumePoint? = nil
    ) {
        precondition((1...Self.maxVersionCount).contains(spokenVersions.count), "hello names 1…16 versions")
        self.spokenVersions = spokenVersions
        self.features = features
        self.limits = limits
        self.device = device
        self.account = account
        self.credential = credential
        self.agent = agent?.clipped(toByteCount: FreeText.maxAgentByteCount)
        self.resume = resume
    }

    /// Parses a whole body; see ``FrameBody`` for the errors.
    public init(parsing body: RawSpan) throws(WireError) {
        var spokenVersions: [WireVersion] = []
        var features: Features?
        var limits: Limits?
        var device: DeviceID?
        var account: AccountName?
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
            account: try account.required(.account), credential: credential, agent: agent, resume: resume)
    }

    /// Appends the body's fields.
    public func encode(into writer: inout TLVWriter) {
        for version in spokenVersions { writer.append(.spokenVersion, version: version) }
        writer.append(.features, uint64: features.rawValue)
        limits.encode(into: &writer)
        writer.append(.device, uint64: device.rawValue)
        writer.append(.account, name: account)
        if let credential { writer.append(.credential, bytes: credential.bytes) }
        if let agent { writer.append(.agent, string: agent) }
        resume?.encode(into: &writer)
    }
}
