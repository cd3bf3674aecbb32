/// The content of a response to an ``AttachmentRequest``.
package enum AttachmentResponse: Equatable, Sendable {
    /// The number of bytes that the relay has stored, of `byteCount`: the answer to `begin` and `write`. They are equal
    /// only when the relay has verified the digest.
    case position(UInt64, byteCount: UInt64)
    /// The bytes that were read, and the length of the whole attachment: the answer to `read`.
    case bytes([UInt8], byteCount: UInt64)
    /// The length of a complete attachment and its media type: the answer to `info`.
    case info(byteCount: UInt64, mediaType: String?)
    /// The upload is discarded: the answer to `remove`.
    case removed

    /// Creates the response to a request from its content.
    ///
    /// - Throws: `missingField`, `duplicateField`, `malformedTLV`, `tlvTooDeep`, `tooManyTLVs` or `unknownCriticalTag`;
    ///   `invalidValue` if a position is above the length, if there are more bytes than requested or none, or if the
    ///   bytes or the position do not belong to the length (R-110, Specs/hostile.md row 86).
    package init(parsing content: [UInt8]?, answering request: AttachmentRequest) throws(WireError) {
        var byteCount: UInt64?
        var mediaType: String?
        var position: UInt64?
        var data: [UInt8]?
        let bytes = content ?? []
        var reader = try TLVReader(wholeBody: bytes.rawBytes)
        while let field = try reader.next() {
            switch field.tag {
            case .byteCount: try byteCount.fill(.byteCount, field.uint64())
            case .mediaType:
                try mediaType.fill(.mediaType, field.string(maxByteCount: Attachment.maxMediaTypeByteCount))
            case .position: try position.fill(.position, field.uint64())
            case .data: try data.fill(.data, field.chunk())
            default: try field.skip()
            }
        }
        switch request {
        case .begin, .write:
            let (position, byteCount) = (try position.required(.position), try byteCount.required(.byteCount))
            guard position <= byteCount else { throw .invalidValue(.position) }
            if case .begin(_, let expected, _) = request, byteCount != expected { throw .invalidValue(.byteCount) }
            self = .position(position, byteCount: byteCount)
        case .read(_, let position, let length):
            let (data, byteCount) = (try data.required(.data), try byteCount.required(.byteCount))
            guard data.count <= length, position <= byteCount, UInt64(data.count) <= byteCount - position else {
                throw .invalidValue(.data)
            }
            self = .bytes(data, byteCount: byteCount)
        case .info: self = .info(byteCount: try byteCount.required(.byteCount), mediaType: mediaType)
        case .remove: self = .removed
        }
    }

    /// The content of the response; nil if it has none.
    package var content: [UInt8]? {
        var writer = TLVWriter()
        switch self {
        case .position(let position, let byteCount):
            writer.append(.position, uint64: position)
            writer.append(.byteCount, uint64: byteCount)
        case .bytes(let data, let byteCount):
            writer.append(.byteCount, uint64: byteCount)
            writer.append(.data, bytes: data)
        case .info(let byteCount, let mediaType):
            writer.append(.byteCount, uint64: byteCount)
            if let mediaType { writer.append(.mediaType, string: mediaType) }
        case .removed: return nil
        }
        return writer.bytes
    }
}
