/// Which TLVs a body has, where that is known: its values then lie at fixed places, and nobody has to look for them.
///
/// Who writes a body knows its layout, and who parses one learns it. It is kept with the body, so that a compact
/// encoder takes the values from their places (W-86).
public enum BodyLayout: UInt8, BitwiseCopyable, Sendable {
    /// Any bytes: TLVs in any order, a part of them, or none.
    case unknown
    /// A client's message of one text: counter, kind, content.
    case text
    /// The same, of a text that is shorter in UTF-16.
    case text16
    /// A relay's message of one text: its four fields, then as a client's.
    case delivery
    /// The same, of a text that is shorter in UTF-16.
    case delivery16
    /// An `accepted` of one run.
    case acceptedRun

    /// The layout of a message.
    ///
    /// - Parameters:
    ///   - text: what it says; well-formed UTF-8.
    ///   - isDelivery: whether it has the relay's fields.
    init(of text: RawSpan, isDelivery: Bool) {
        // Shorter ones are TLVs to ``MessagePlaces``, too.
        guard text.byteCount >= MessagePlaces.leastTextByteCount else {
            self = .unknown
            return
        }
        self = text.isShorterInUTF16 ? .text16 : .text
        if isDelivery { self = stamped }
    }

    /// The layout of a whole body that came from elsewhere.
    public init(of type: FrameType, _ body: RawSpan) {
        self = .unknown
        switch type {
        case .data:
            guard let places = MessagePlaces(usual: body), places.timeToLive == 0 else { return }
            self.init(of: body.value(at: places.text), isDelivery: places.offset != 0)
        case .accepted:
            guard body.byteCount == AcceptedRun.byteCount, body.loadUInt16(at: 0) == Tag.acceptedRun.rawValue,
                body.loadUInt32(at: 2) == AcceptedRun.valueByteCount
            else { return }
            self = .acceptedRun
        default: return
        }
    }

    /// The layout of the same message with the relay's fields in front.
    public var stamped: BodyLayout {
        switch self {
        case .text: .delivery
        case .text16: .delivery16
        case .unknown, .delivery, .delivery16, .acceptedRun: .unknown
        }
    }

    /// Whether the body is a message of one text.
    var isMessage: Bool {
        switch self {
        case .text, .text16, .delivery, .delivery16: true
        case .unknown, .acceptedRun: false
        }
    }
}
