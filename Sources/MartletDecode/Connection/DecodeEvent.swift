public import MartletWire

/// Why bytes are malformed: what a peer would answer, and a description.
public struct DecodeFault: Error, Equatable, Sendable {
    /// The error code that a peer would answer with (Specs/wire.md §12).
    public var code: ErrorCode
    /// A description in English, in one line.
    public var text: String
    /// The offset of the fault in the body, in bytes, if it is known.
    public var bodyOffset: Int?
    /// The header of the frame, if it was valid.
    public var header: FrameHeader?

    init(_ code: ErrorCode, _ text: String) {
        self.code = code
        self.text = text
    }

    init(_ error: WireError) {
        self.init(error.code, error.text)
        if case .malformedTLV(let offset) = error { bodyOffset = offset }
    }

    /// The fault with the header of its frame.
    func of(_ header: FrameHeader) -> DecodeFault {
        var fault = self
        fault.header = header
        return fault
    }
}

/// A frame, with what its connection and its link tell about it.
public struct DecodedFrame: Equatable, Sendable {
    /// The meaning of the body.
    public enum Content: Equatable, Sendable {
        /// A whole valid body.
        case frame(Frame)
        /// A fragment of one: its number, from 1, unless the beginning is not in the input.
        case fragment(Int?)
        /// The body of a frame type that is not known and may be skipped.
        case unknown
        /// An invalid body that a peer refuses without ending the connection.
        case refused(DecodeFault)
    }

    /// The position of the frame, or of the packet that held it.
    public var position: StreamPosition
    /// The header; a frame that was in a packet has the header that it would have alone.
    public var header: FrameHeader
    /// The body, inflated; of the last fragment, the joined body.
    public var body: [UInt8]
    /// The meaning of the body.
    public var content: Content
    /// The 64-bit sequence of a reliable frame.
    public var sequence: UInt64?
    /// Whether a frame with this sequence came before.
    public var isRepeated = false
    /// How many sequences before this one were not seen.
    public var missingCount: UInt64 = 0
    /// How many fragments the body was joined from.
    public var fragmentCount = 1
    /// The room that the session was opened on, if that is known.
    public var room: String?

    /// Whether the body is whole, so that it has fields.
    public var hasFields: Bool {
        switch content {
        case .frame, .refused: true
        case .fragment, .unknown: false
        }
    }

    /// The fields of the body as a tree; without fields for a fragment and for an unknown type.
    ///
    /// - Parameter showingSecrets: whether credentials and resume tokens are in the tree.
    /// - Throws: the `WireError` of a refused body whose structure is wrong.
    public func fields(showingSecrets: Bool = false) throws(WireError) -> FieldTree {
        hasFields ? try FieldTree(parsing: body, showingSecrets: showingSecrets) : FieldTree()
    }
}

/// What decoding emits, in the order of the input.
public enum DecodeEvent: Equatable, Sendable {
    case frame(DecodedFrame)
    /// The stream is malformed at this position, and is not read further.
    case fault(StreamPosition, DecodeFault)
    /// A condition of the input that is no fault of a peer, as a text in English.
    case note(StreamPosition, String)
}

extension WireError {
    /// A description in English, in one line.
    var text: String {
        switch self {
        case .badMagic(let found): "begins with \(hex(found, digits: 8)) instead of 0x8D4D5254"
        case .unsupportedVersion(let major): "major version \(major)"
        case .reservedBits(let flags): "flags \(hex(flags, digits: 2))"
        case .frameTooLarge(let byteCount, let limit): "a body of \(byteCount) bytes, where \(limit) are allowed"
        case .badChecksum(let expected, let actual):
            "the header says \(hex(expected, digits: 8)), the bytes give \(hex(actual, digits: 8))"
        case .missingChecksum: "the frame is not checksummed"
        case .unexpectedEOF(let missing): "the stream ends inside a frame, \(missing) bytes or more are missing"
        case .unknownCriticalFrame(let type): "critical frame type \(type)"
        case .unknownCriticalTag(let tag): "critical tag \(tag)"
        case .malformedTLV(let offset): "the field at byte \(offset) of the body does not fit"
        case .tlvTooDeep(let limit): "more than \(limit) containers one in another"
        case .tooManyTLVs(let limit): "more than \(limit) fields"
        case .missingField(let tag): "\(tag) is missing"
        case .duplicateField(let tag): "\(tag) comes again"
        case .invalidValue(let tag): "a value of \(tag) that is not allowed"
        case .unsupportedCompression(let value): "compression \(value)"
        case .inflateLimit(let limit): "the body inflates beyond \(limit) bytes"
        case .inflateFailed: "the compressed body is damaged"
        case .malformedPacket(let offset): "byte \(offset) of the packet's payload does not fit"
        }
    }
}

/// A number as `0x` and at least `digits` hexadecimal digits.
package func hex(_ number: some BinaryInteger, digits: Int = 1) -> String {
    let text = String(number, radix: 16, uppercase: true)
    return "0x" + String(repeating: "0", count: max(digits - text.count, 0)) + text
}
