/// What became of messages: seen up to an offset, or one refused (W-65).
public enum Receipt: FrameBody {
    /// A device has the room's messages up to an offset, or its user has read them.
    case progress(Progress)
    /// The relay does not take a message.
    case refused(Refusal)

    /// `receipt`, 0x2002.
    public static let type = FrameType.receipt

    /// Messages seen.
    public struct Progress: Equatable, Sendable {
        /// How far they got.
        public var mark: Mark
        /// The highest offset of the room that is meant; all before it are.
        public var upTo: UInt64
        /// Whose receipt this is; the relay fills it in.
        public var sender: AccountName?
        /// The device whose receipt this is; the relay fills it in.
        public var device: DeviceID?

        /// A receipt for all messages up to an offset.
        public init(_ mark: Mark, upTo: UInt64, sender: AccountName? = nil, device: DeviceID? = nil) {
            self.mark = mark
            self.upTo = upTo
            self.sender = sender
            self.device = device
        }
    }

    /// A message refused.
    public struct Refusal: Equatable, Sendable {
        /// The message's counter, at least 1; its device is the one that reads this.
        public let counter: UInt64
        /// Why.
        public let code: ErrorCode
        /// The same for people, at most 256 bytes.
        public let reason: String?

        /// A refusal; `reason` is cut to 256 bytes.
        ///
        /// - Precondition: counters start at 1.
        public init(counter: UInt64, code: ErrorCode, reason: String? = nil) {
            precondition(counter >= 1, "counters start at 1")
            self.counter = counter
            self.code = code
            self.reason = reason?.clipped(toByteCount: FreeText.maxReasonByteCount)
        }
    }

    private static var refusedKind: UInt8 { 3 }

    /// Parses a whole body; see ``FrameBody`` for the errors.
    public init(parsing body: RawSpan) throws(WireError) {
        var kind: UInt8?
        var upTo: UInt64?
        var sender: AccountName?
        var device: DeviceID?
        var counter: UInt64?
        var code: ErrorCode?
        var reason: String?
        var reader = try TLVReader(wholeBody: body)
        while let field = try reader.next() {
            switch field.tag {
            case .receiptKind: try kind.fill(.receiptKind, field.uint8())
            case .upTo: try upTo.fill(.upTo, field.uint64())
            case .sender: try sender.fill(.sender, field.name())
            case .device: try device.fill(.device, DeviceID(rawValue: field.uint64()))
            case .counter: try counter.fill(.counter, field.positive())
            case .code: try code.fill(.code, ErrorCode(rawValue: field.uint16()))
            case .reason: try reason.fill(.reason, field.reason())
            default: try field.skip()
            }
        }
        let number = try kind.required(.receiptKind)
        if let mark = Mark(rawValue: number) {
            self = .progress(Progress(mark, upTo: try upTo.required(.upTo), sender: sender, device: device))
        } else if number == Self.refusedKind {
            let refusal = Refusal(
                counter: try counter.required(.counter), code: try code.required(.code), reason: reason)
            self = .refused(refusal)
        } else {
            throw .invalidValue(.receiptKind)
        }
    }

    /// Appends the body's fields.
    public func encode(into writer: inout TLVWriter) {
        switch self {
        case .progress(let progress):
            writer.append(.receiptKind, uint8: progress.mark.rawValue)
            writer.append(.upTo, uint64: progress.upTo)
            if let sender = progress.sender { writer.append(.sender, name: sender) }
            if let device = progress.device { writer.append(.device, uint64: device.rawValue) }
        case .refused(let refusal):
            writer.append(.receiptKind, uint8: Self.refusedKind)
            writer.append(.counter, uint64: refusal.counter)
            writer.append(.code, uint16: refusal.code.rawValue)
            if let reason = refusal.reason { writer.append(.reason, string: reason) }
        }
    }
}
