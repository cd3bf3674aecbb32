/// What can be fuzzed, each with the invariant that it checks on any bytes.
public enum FuzzTarget: String, CaseIterable, Sendable {
    /// `Framer`.
    case framer
    /// `PacketReader` and `PacketWriter`.
    case packets
    /// `TLVValidator`, `TLVReader`, `TLVTree`, and the fields of every type of frame.
    case tlv
    /// `Inflater` and `Deflater`.
    case inflate
    /// Both engines between a connection's first byte and the welcome.
    case handshake
    /// Both engines in a virtual world full of trouble.
    case session
    /// Every type of frame, there and back.
    case differential
    /// A relay with an honest pair and peers that are not.
    case relay

    /// What must hold, in one sentence.
    public var invariant: String {
        switch self {
        case .framer:
            "however a stream is cut, the same frames or the same error come out, and no more is held than was sent"
        case .packets:
            "packets come to the same frames however they are cut, and frames that are packed come back as they were"
        case .tlv:
            "a body that parses encodes to the same bytes, unknown tags are kept, and critical ones are refused"
        case .inflate:
            "nothing inflates beyond its limit, and what was deflated inflates to itself"
        case .handshake:
            "whatever bytes come before welcome, few are answered, little is held, and the connection ends in time"
        case .session:
            "whatever happens to two clients and their relay, every line is accepted once and seen once, in order"
        case .differential:
            "a frame that is encoded and parsed is equal to itself, and its encoding is its only one"
        case .relay:
            "whatever several peers do to a relay, its queues stay bounded and an honest pair loses and repeats nothing"
        }
    }

    /// Checks the invariant on an input; the process stops when it does not hold.
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
        }
    }
}
