import MartletWire

/// Who sends on a way of a connection.
enum Sender: String, Sendable {
    case client, server

    /// Who receives it.
    var other: Sender { self == .client ? .server : .client }
}

/// Where something is: in which connection, on which way, at which byte of its stream, and when it was captured.
struct Place: Equatable, Sendable {
    /// The connection's number in the capture, from 1.
    var connection = 1
    /// Who sent it; `nil` when nothing has told yet.
    var sender: Sender?
    /// The offset in the stream, in bytes.
    var offset = 0
    /// Nanoseconds since 1970; `nil` outside captures.
    var time: UInt64?
}

/// What a peer would say about bytes that it refuses.
struct Fault: Error, Equatable, Sendable {
    var code: ErrorCode
    /// What is wrong, for people.
    var text: String
    /// Where in the body, in bytes, if that is known.
    var bodyOffset: Int?
    /// The frame's header, when that much was right.
    var header: FrameHeader?

    init(_ code: ErrorCode, _ text: String) {
        self.code = code
        self.text = text
    }

    init(_ error: WireError) {
        self.init(error.code, error.text)
        if case .malformedTLV(let offset) = error { bodyOffset = offset }
    }

    /// The same of a frame with that header.
    func of(_ header: FrameHeader) -> Fault {
        var fault = self
        fault.header = header
        return fault
    }
}

/// A frame, and what following its link has told about it.
struct DecodedFrame: Equatable, Sendable {
    /// What the body came to.
    enum Content: Equatable, Sendable {
        /// A whole body that is right.
        case frame(Frame)
        /// A part of one: the number of the part, unless the beginning is not in the capture.
        case fragment(Int?)
        /// The type is not known, and may be skipped.
        case unknown
        /// The body is refused, and nothing but it: the connection goes on.
        case refused(Fault)
    }

    var place: Place
    var header: FrameHeader
    /// The body, inflated, and, with the last fragment, joined.
    var body: [UInt8]
    var content: Content
    /// The whole sequence of a reliable frame.
    var sequence: UInt64?
    /// Whether a frame of that sequence was there before.
    var isRepeated = false
    /// How many sequences before it were not seen.
    var missingCount: UInt64 = 0
    /// How many fragments the body was joined from.
    var fragmentCount = 1
    /// The room that the session was opened on.
    var room: String?
}

/// What comes out of decoding, in the order of the input.
enum DecodeEvent: Equatable, Sendable {
    case frame(DecodedFrame)
    /// The stream is malformed at that place, and is not read further.
    case fault(Place, Fault)
    /// Something worth knowing that is nobody's mistake.
    case note(Place, String)
}

extension WireError {
    /// What is wrong, for people, with the numbers.
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

/// A number as `0x` and at least so many hexadecimal digits.
func hex(_ number: some BinaryInteger, digits: Int = 1) -> String {
    let text = String(number, radix: 16, uppercase: true)
    return "0x" + String(repeating: "0", count: max(digits - text.count, 0)) + text
}
