/// The fuzz targets, each with the invariant that it checks on any input.
public enum FuzzTarget: String, CaseIterable, Sendable {
    /// `Framer`.
    case framer
    /// `PacketReader` and `PacketWriter`.
    case packets
    /// `TLVValidator`, `TLVReader`, `TLVTree`, and the fields of every type of frame.
    case tlv
    /// `Inflater` and `Deflater`.
    case inflate
    /// Both engines from the first byte of a connection to the welcome.
    case handshake
    /// Both engines in a virtual world with faults.
    case session
    /// Every type of frame, encoded and parsed.
    case differential
    /// A relay with a correct pair and faulty peers.
    case relay
    /// `JSONWebKeySet` and `TokenVerifier`.
    case token
    /// `SCRAMServer`, `SCRAMClient` and `PasswordFile`.
    case scram
    /// `RoomRules`.
    case rules
    /// `RoomRoles`, `RoomOperation` and `RoomRoster`.
    case roles
    /// The names of `PeerCertificate`.
    case certificate
    /// `MessageBody` and `ContentValue`.
    case content
    /// `ProxyHeader`.
    case proxy
    /// `HTTPRequestParser`.
    case http
    /// `WebSocketReader`, and both sides of the upgrade.
    case webSocket
    /// `HTTPConnectHandshake` and `SOCKS5Handshake`.
    case proxyHandshake
    /// `FlightRecording` and `FlightReplay`.
    case recording
    /// `TelemetryBatch`, `LineProtocol` and `SpoolSegment`.
    case telemetry
    /// The edges of arithmetic in the numbers of frames and messages.
    case numbers

    /// The invariant in one sentence.
    public var invariant: String {
        switch self {
        case .framer:
            "any split of a stream gives the same frames or the same error, and the state is bounded by the input"
        case .packets:
            "any split of packets gives the same frames, and packed frames are restored"
        case .tlv:
            "a parsed body encodes to the same bytes, unknown tags are kept, and critical ones are refused"
        case .inflate:
            "inflation stops at its limit, and deflated bytes inflate to the original"
        case .handshake:
            "before welcome the replies and the state are bounded for any input, and the connection ends in time"
        case .session:
            "under any faults every message is accepted once and delivered once, in order"
        case .differential:
            "an encoded and parsed frame equals the original, and its encoding is unique"
        case .relay:
            "for any input of several peers a relay's queues stay bounded, and a correct pair loses and repeats nothing"
        case .token:
            "no key set or token traps, and no token is accepted but those that the keys have signed"
        case .scram:
            "no message or password file traps, and no peer is accepted without the password or its keys"
        case .rules:
            "no text of rules traps, and none permits anything without an allow line"
        case .roles:
            "no stored roles or request trap, decoded ones encode to the same bytes, and operations keep the bounds"
        case .certificate:
            "no names trap, none are invented, and the account of a certificate is one of them"
        case .content:
            "no content traps, a parsed content is restored, and a value has one encoding"
        case .proxy:
            "any split of a header gives the same address or the same refusal, within its bound"
        case .http:
            "any split of a connection gives the same requests and the same fault, within the bounds"
        case .webSocket:
            "any split of frames or of an upgrade gives the same outcome, which a second reader of frames finds too"
        case .proxyHandshake:
            "any split of the answers of a proxy gives the same outcome, and few requests are sent"
        case .recording:
            "no records of a flight recording trap, and the replay of those that are read ends"
        case .telemetry:
            "a batch of points is restored, its lines keep their bound, and no damaged record of a spool is read"
        case .numbers:
            "no value of a number of a peer traps in a client, a relay, a timeline or a store"
        }
    }

    /// Checks the invariant on an input; the process stops at a violation.
    public func run(_ input: RawSpan) {
        switch self {
        case .framer: FramerTarget.run(input)
        case .packets: PacketsTarget.run(input)
        case .tlv: TLVTarget.run(input)
        case .inflate: InflateTarget.run(input)
        case .handshake: HandshakeTarget.run(input)
        case .session: SessionTarget.run(input)
        case .differential: DifferentialTarget.run(input)
        case .relay: RelayTarget.run(input)
        case .token: TokenTarget.run(input)
        case .scram: SCRAMTarget.run(input)
        case .rules: RulesTarget.run(input)
        case .roles: RolesTarget.run(input)
        case .certificate: CertificateTarget.run(input)
        case .content: ContentTarget.run(input)
        case .proxy: ProxyTarget.run(input)
        case .http: HTTPTarget.run(input)
        case .webSocket: WebSocketTarget.run(input)
        case .proxyHandshake: ProxyHandshakeTarget.run(input)
        case .recording: RecordingTarget.run(input)
        case .telemetry: TelemetryTarget.run(input)
        case .numbers: NumbersTarget.run(input)
        }
    }
}
