/// The known layout of a body, in which the values have fixed offsets.
///
/// The encoder and the parser of a body determine its layout. It is stored with the body, so that a compact encoder
/// reads the values without parsing (W-86).
@usableFromInline
package enum BodyLayout: UInt8, BitwiseCopyable, Sendable {
    /// Any bytes: TLVs in any order, a fragment, or no TLVs.
    case unknown
    /// A text message of a client: counter, kind, content.
    case text
    /// The layout ``text`` with a text that is shorter in UTF-16.
    case text16
    /// A text message of a relay: the four fields of the stamp, then the fields of ``text``.
    case delivery
    /// The layout ``delivery`` with a text that is shorter in UTF-16.
    case delivery16
    /// An `accepted` with one run.
    case acceptedRun

    /// Creates the layout of a message.
    ///
    /// - Parameters:
    ///   - text: The text as well-formed UTF-8.
    ///   - isDelivery: Whether the body contains the fields of the relay.
    init(of text: RawSpan, isDelivery: Bool) {
        // ``MessageFieldOffsets`` does not recognize a shorter text either.
        guard text.byteCount >= MessageFieldOffsets.minTextByteCount else {
            self = .unknown
            return
        }
        self = text.isShorterInUTF16 ? .text16 : .text
        if isDelivery { self = stamped }
    }

    /// Creates the layout of a complete body of a type, which it determines from the bytes.
    package init(of type: FrameType, _ body: RawSpan) {
        self = .unknown
        switch type {
        case .data:
            guard let offsets = MessageFieldOffsets(usual: body), offsets.timeToLive == 0 else { return }
            self.init(of: body.value(at: offsets.text), isDelivery: offsets.offset != 0)
        case .accepted:
            guard body.byteCount == AcceptedRun.byteCount, body.loadUInt16(at: 0) == Tag.acceptedRun.rawValue,
                body.loadUInt32(at: 2) == AcceptedRun.valueByteCount
            else { return }
            self = .acceptedRun
        default: return
        }
    }

    /// The layout of the same message with the fields of the relay.
    @inlinable
    package var stamped: BodyLayout {
        switch self {
        case .text: .delivery
        case .text16: .delivery16
        case .unknown, .delivery, .delivery16, .acceptedRun: .unknown
        }
    }

    /// Whether the body is a text message.
    var isMessage: Bool {
        switch self {
        case .text, .text16, .delivery, .delivery16: true
        case .unknown, .acceptedRun: false
        }
    }
}
