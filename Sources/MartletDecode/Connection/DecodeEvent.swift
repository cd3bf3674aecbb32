public import MartletWire

/// A fault in the input: the error code with which a peer would answer, and a description.
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

/// A decoded frame with its position, its session and its place in a message.
public struct DecodedFrame: Equatable, Sendable {
    /// The meaning of the body.
    package enum Content: Equatable, Sendable {
        /// A complete valid body.
        case frame(Frame)
        /// A fragment of a body. The number is counted from 1, and nil if the first fragment is not in the input.
        case fragment(Int?)
        /// The body of an unknown frame type that may be ignored.
        case unknown
        /// An invalid body that a peer refuses without ending the connection.
        case refused(DecodeFault)
    }

    /// The position of the frame, or of the packet that contains it.
    public var position: StreamPosition
    /// The header. A frame of a packet has the header of its uncompacted form.
    public var header: FrameHeader
    /// The inflated body. The last fragment of a message has the joined body.
    public var body: [UInt8]
    /// The meaning of the body.
    package var content: Content
    /// The 64-bit sequence of a reliable frame.
    public var sequence: UInt64?
    /// Whether an earlier frame had this sequence.
    public var isRepeated = false
    /// The number of sequences before this one that are not in the input.
    public var missingCount: UInt64 = 0
    /// The number of fragments of the joined body.
    public var fragmentCount = 1
    /// The room on which the session was opened, if it is known.
    public var room: String?

    /// Whether the body is complete and therefore has fields.
    public var hasFields: Bool {
        switch content {
        case .frame, .refused: true
        case .fragment, .unknown: false
        }
    }

    /// The fault for which a peer refuses the body without ending the connection; nil if there is none.
    public var fault: DecodeFault? {
        if case .refused(let fault) = content { fault } else { nil }
    }

    /// Parses the fields of the body. A fragment and an unknown type have no fields.
    ///
    /// - Parameter showingSecrets: Whether the tree contains credentials and resume tokens.
    /// - Throws: The `WireError` of a refused body with an invalid structure.
    public func fields(showingSecrets: Bool = false) throws(WireError) -> FieldTree {
        hasFields ? try FieldTree(parsing: body, showingSecrets: showingSecrets) : FieldTree()
    }
}

/// An event of a decoder. Events are emitted in the order of the input.
public enum DecodeEvent: Equatable, Sendable {
    /// A frame.
    case frame(DecodedFrame)
    /// A fault at which the decoding of the stream ends.
    case fault(StreamPosition, DecodeFault)
    /// A condition of the input that is not a fault of a peer, described in English.
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
            "the header has checksum \(hex(expected, digits: 8)), the bytes have \(hex(actual, digits: 8))"
        case .expectedHello(let type): "\(type) before hello"
        case .missingChecksum: "the frame is not checksummed"
        case .unexpectedEOF(let missing): "the stream ends inside a frame, \(missing) bytes or more are missing"
        case .unknownCriticalFrame(let type): "critical frame type \(type)"
        case .unknownCriticalTag(let tag): "critical tag \(tag)"
        case .malformedTLV(let offset): "the field at byte \(offset) of the body does not fit"
        case .tlvTooDeep(let limit): "more than \(limit) nested containers"
        case .tooManyTLVs(let limit): "more than \(limit) fields"
        case .missingField(let tag): "\(tag) is missing"
        case .duplicateField(let tag): "\(tag) is repeated"
        case .invalidValue(let tag): "an invalid value of \(tag)"
        case .unsupportedCompression(let value): "compression \(value)"
        case .inflateLimit(let limit): "the body inflates beyond \(limit) bytes"
        case .inflateFailed: "the compressed body is damaged"
        case .malformedPacket(let offset): "byte \(offset) of the packet's payload does not fit"
        }
    }
}

/// Formats a number as `0x` and at least `digits` hexadecimal digits.
package func hex(_ number: some BinaryInteger, digits: Int = 1) -> String {
    let text = String(number, radix: 16, uppercase: true)
    return "0x" + String(repeating: "0", count: max(digits - text.count, 0)) + text
}
