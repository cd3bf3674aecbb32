/// How far an error reaches: what must end because of it.
public enum ErrorScope: Sendable {
    /// One frame is refused, everything else goes on.
    case frame
    /// One session ends.
    case session
    /// The connection ends, the link resumes on a new one.
    case connection
    /// The link ends.
    case link
}

/// Whose doing an error is.
public enum ErrorOrigin: Sendable {
    /// The other side's bytes.
    case peer
    /// This side's own decision.
    case local
}

/// Bytes from the wire that version 1.0 does not allow.
public enum WireError: Error, Equatable, Sendable {
    /// The first bytes are not `FrameHeader.magic`; missing bytes of a short prefix count as zero.
    case badMagic(UInt32)
    /// The major version is not spoken here.
    case unsupportedVersion(major: UInt8)
    /// Reserved bits of the flag byte are set; the value is the whole byte.
    case reservedBits(UInt8)
    /// The header claims a body of more than `limit` bytes.
    case frameTooLarge(byteCount: UInt64, limit: Int)
    /// The checksum that the header carries, and the one that the bytes have.
    case badChecksum(expected: UInt32, actual: UInt32)
    /// The frame does not say that it is checksummed.
    case missingChecksum
    /// The stream ended; at least so many bytes were still to come.
    case unexpectedEOF(missing: Int)
    /// A frame type that is not known here and must not be skipped.
    case unknownCriticalFrame(FrameType)
    /// A tag that is not known here and must not be ignored.
    case unknownCriticalTag(Tag)
    /// The field at that byte offset does not fit into what holds it.
    case malformedTLV(offset: Int)
    /// More than `limit` containers are nested.
    case tlvTooDeep(limit: Int)
    /// More than `limit` fields are in one frame.
    case tooManyTLVs(limit: Int)
    /// A required field is not there.
    case missingField(Tag)
    /// A field that may come once came again.
    case duplicateField(Tag)
    /// A field's value has the wrong length or is not allowed.
    case invalidValue(Tag)
    /// The compression byte is unknown, or refused in this version.
    case unsupportedCompression(UInt8)
    /// A compressed body grows beyond that many bytes.
    case inflateLimit(Int)
    /// A compressed body is truncated, damaged, or followed by other bytes.
    case inflateFailed
    /// A packet's payload is not a sequence of compact frames, or refers to what was not said; the place is in bytes
    /// from where the faulty part begins (W-79).
    case malformedPacket(offset: Int)

    /// What is said to the peer about it.
    public var code: ErrorCode {
        switch self {
        case .badMagic: .badMagic
        case .unsupportedVersion: .unsupportedVersion
        case .reservedBits: .reservedBits
        case .frameTooLarge: .frameTooLarge
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

    /// A field's value is the frame's affair; a structure that is wrong ends the connection (W-72).
    public var scope: ErrorScope {
        switch self {
        case .missingField, .duplicateField, .invalidValue: .frame
        default: .connection
        }
    }

    /// Always the peer: only its bytes give these errors.
    public var origin: ErrorOrigin { .peer }
}
