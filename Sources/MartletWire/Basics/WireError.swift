/// The scope of an error: the object that ends because of it.
package enum ErrorScope: Sendable {
    /// One frame is refused. The session and the connection continue.
    case frame
    /// One session ends.
    case session
    /// The connection ends. The link resumes on a new one.
    case connection
    /// The link ends.
    case link
}

/// The endpoint that caused an error.
package enum ErrorOrigin: Sendable {
    /// The peer, by bytes that it sent.
    case peer
    /// This endpoint, by its own decision.
    case local
}

/// An error in bytes from the wire: they violate version 1.0 or 1.1.
public enum WireError: Error, Equatable, Sendable {
    /// The first four bytes differ from `FrameHeader.magic`. The value contains zeros for missing bytes of a short
    /// prefix.
    case badMagic(UInt32)
    /// The major version is not supported.
    case unsupportedVersion(major: UInt8)
    /// Reserved bits of the flag byte are set. The value is the whole byte.
    case reservedBits(UInt8)
    /// The header announces a body of `byteCount` bytes, more than `limit`.
    case frameTooLarge(byteCount: UInt64, limit: Int)
    /// The first frame of a client has another type than hello.
    case expectedHello(FrameType)
    /// The checksum in the header, `expected`, differs from the checksum of the bytes, `actual`.
    case badChecksum(expected: UInt32, actual: UInt32)
    /// The flag `checksummed` is not set.
    case missingChecksum
    /// The stream ended within a frame. At least `missing` bytes of the frame are absent.
    case unexpectedEOF(missing: Int)
    /// The frame type is unknown and critical.
    case unknownCriticalFrame(FrameType)
    /// The tag is unknown and critical.
    case unknownCriticalTag(Tag)
    /// The field at a byte offset exceeds the body or container that contains it.
    case malformedTLV(offset: Int)
    /// More than `limit` containers are nested.
    case tlvTooDeep(limit: Int)
    /// A frame contains more than `limit` fields.
    case tooManyTLVs(limit: Int)
    /// A required field is missing.
    case missingField(Tag)
    /// A field that may occur once is repeated.
    case duplicateField(Tag)
    /// The value of a field has an invalid length or is not permitted.
    case invalidValue(Tag)
    /// The compression byte is unknown, or this version refuses it.
    case unsupportedCompression(UInt8)
    /// The body exceeds the given number of bytes when it is inflated.
    case inflateLimit(Int)
    /// A compressed body is truncated, damaged, or followed by other bytes.
    case inflateFailed
    /// The payload of a packet is not a sequence of compact frames, or refers to values that no earlier frame defined.
    /// The offset is in bytes from the start of the invalid part (W-79).
    case malformedPacket(offset: Int)

    /// The code that reports the error to the peer.
    public var code: ErrorCode {
        switch self {
        case .badMagic: .badMagic
        case .unsupportedVersion: .unsupportedVersion
        case .reservedBits: .reservedBits
        case .frameTooLarge: .frameTooLarge
        case .expectedHello: .expectedHello
        case .badChecksum, .missingChecksum: .badChecksum
        case .unexpectedEOF: .unexpectedEOF
        case .unknownCriticalFrame, .unknownCriticalTag: .unknownCritical
        case .malformedTLV: .malformedTLV
        case .tlvTooDeep: .tlvTooDeep
        case .tooManyTLVs: .tooManyTLVs
        case .missingField: .missingField
        case .duplicateField: .duplicateField
        case .invalidValue: .invalidValue
        case .unsupportedCompression: .compressionNotAllowed
        case .inflateLimit: .inflateLimit
        case .inflateFailed: .inflateFailed
        case .malformedPacket: .protocolViolation
        }
    }

    /// The scope of the error: `frame` for the value of a field, `connection` for an invalid structure (W-72).
    package var scope: ErrorScope {
        switch self {
        case .missingField, .duplicateField, .invalidValue: .frame
        default: .connection
        }
    }

    /// The source of the error, which is always the peer.
    package var origin: ErrorOrigin { .peer }
}
