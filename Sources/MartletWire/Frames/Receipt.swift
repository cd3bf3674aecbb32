/// The frame that reports messages up to an offset as delivered or read, or one message as refused (W-65).
package enum Receipt: FrameBody {
    /// The report that a device has received messages up to an offset, or that its user has read them.
    case progress(Progress)
    /// The refusal of a message by the relay.
    case refused(Refusal)

    /// The type `receipt`, 0x2002.
    package static let type = FrameType.receipt

    /// A report of messages that a member has received or read.
    package struct Progress: Equatable, Sendable {
        /// The state of the messages: delivered or read.
        package var mark: Mark
        /// The highest offset of the report. All messages up to it have the state.
        package var upTo: UInt64
        /// The account of the member. The relay sets it.
        package var sender: AccountName?
        /// The device of the member. The relay sets it.
        package var device: DeviceID?

        /// Creates a receipt for all messages up to an offset.
        package init(_ mark: Mark, upTo: UInt64, sender: AccountName? = nil, device: DeviceID? = nil) {
            self.mark = mark
            self.upTo = upTo
            self.sender = sender
            self.device = device
        }
    }

    /// The refusal of a message.
    package struct Refusal: Equatable, Sendable {
        /// The maximum number of bytes of UTF-8 in a reason.
        static let maxReasonByteCount = 256

        /// The counter of the message, at least 1. Its device is the one that receives this frame.
        package let counter: UInt64
        /// The reason as a code.
        package let code: ErrorCode
        /// The reason as text for people, at most 256 bytes of UTF-8.
        package let reason: String?

        /// Creates a refusal. `reason` is truncated to 256 bytes.
        ///
        /// - Precondition: The counter is at least 1.
        package init(counter: UInt64, code: ErrorCode, reason: String? = nil) {
            precondition(counter >= 1, "counters start at 1")
            self.counter = counter
            self.code = code
            self.reason = reason?.clipped(toByteCount: Self.maxReasonByteCount)
        }
    }

    private static var refusedKind: UInt8 { 3 }

    /// Creates the frame from its body.
    ///
    /// - Throws: The errors of ``FrameBody/init(parsing:)``.
    package init(parsing body: RawSpan) throws(WireError) {
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
            case .reason: try reason.fill(.reason, field.string(maxByteCount: Refusal.maxReasonByteCount))
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

    /// Appends the fields of the body.
    package func encode(into writer: inout TLVWriter) {
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
