/// A request about an attachment: the method and the content of a request on a session of kind attachment.
package enum AttachmentRequest: Equatable, Sendable {
    /// The maximum number of bytes of an attachment in one request or response. A frame with them is one fragment.
    package static let maxChunkByteCount = 15 * 1024

    /// Begin the upload of an attachment of this length, or continue it.
    case begin(AttachmentDigest, byteCount: UInt64, mediaType: String?)
    /// Store these bytes, 1 to ``maxChunkByteCount``, at a position.
    case write(AttachmentDigest, position: UInt64, [UInt8])
    /// Read at most this many bytes, 1 to ``maxChunkByteCount``, from a position.
    case read(AttachmentDigest, position: UInt64, length: Int)
    /// Ask for the length.
    case info(AttachmentDigest)
    /// Discard an incomplete upload.
    case remove(AttachmentDigest)

    /// The method of the request.
    package var method: AttachmentMethod {
        switch self {
        case .begin: .begin
        case .write: .write
        case .read: .read
        case .info: .info
        case .remove: .remove
        }
    }

    /// Creates a request from its content. A greater length than ``maxChunkByteCount`` counts as that number.
    ///
    /// - Throws: `missingField`, `duplicateField` or `invalidValue` for a field; `malformedTLV`, `tlvTooDeep`,
    ///   `tooManyTLVs` or `unknownCriticalTag`.
    package init(_ method: AttachmentMethod, content: [UInt8]?) throws(WireError) {
        var digest: AttachmentDigest?
        var byteCount: UInt64?
        var mediaType: String?
        var position: UInt64?
        var length: UInt32?
        var data: [UInt8]?
        let bytes = content ?? []
        var reader = try TLVReader(wholeBody: bytes.rawBytes)
        while let field = try reader.next() {
            switch field.tag {
            case .digest: try digest.fill(.digest, field.attachmentDigest())
            case .byteCount: try byteCount.fill(.byteCount, field.uint64())
            case .mediaType:
                try mediaType.fill(.mediaType, field.string(maxByteCount: Attachment.maxMediaTypeByteCount))
            case .position: try position.fill(.position, field.uint64())
            case .length: try length.fill(.length, field.uint32())
            case .data: try data.fill(.data, field.chunk())
            default: try field.skip()
            }
        }
        let name = try digest.required(.digest)
        switch method {
        case .begin: self = .begin(name, byteCount: try byteCount.required(.byteCount), mediaType: mediaType)
        case .write:
            self = .write(name, position: try position.required(.position), try data.required(.data))
        case .read:
            let length = try length.required(.length)
            guard length >= 1 else { throw .invalidValue(.length) }
            self = .read(
                name, position: try position.required(.position),
                length: min(Int(clamping: length), Self.maxChunkByteCount))
        case .info: self = .info(name)
        case .remove: self = .remove(name)
        }
    }

    /// The content of the request.
    package var content: [UInt8] {
        var writer = TLVWriter()
        switch self {
        case .begin(let digest, let byteCount, let mediaType):
            writer.append(.digest, bytes: digest.bytes)
            writer.append(.byteCount, uint64: byteCount)
            if let mediaType { writer.append(.mediaType, string: mediaType) }
        case .write(let digest, let position, let data):
            writer.append(.digest, bytes: digest.bytes)
            writer.append(.position, uint64: position)
            writer.append(.data, bytes: data)
        case .read(let digest, let position, let length):
            writer.append(.digest, bytes: digest.bytes)
            writer.append(.position, uint64: position)
            writer.append(.length, uint32: UInt32(clamping: length))
        case .info(let digest), .remove(let digest):
            writer.append(.digest, bytes: digest.bytes)
        }
        return writer.bytes
    }
}

extension TLVView {
    /// Returns the value of a field that contains a digest.
    func attachmentDigest() throws(WireError) -> AttachmentDigest {
        guard let digest = AttachmentDigest(value) else { throw .invalidValue(tag) }
        return digest
    }

    /// Returns the value of a field that contains bytes of an attachment.
    func chunk() throws(WireError) -> [UInt8] {
        guard (1...AttachmentRequest.maxChunkByteCount).contains(value.byteCount) else { throw .invalidValue(tag) }
        return bytes()
    }
}

/// The method of a request on a session of kind attachment.
package enum AttachmentMethod: String, CaseIterable, Sendable {
    /// Begin an upload, or continue it.
    case begin = "attachment.begin"
    /// Store bytes of an upload.
    case write = "attachment.write"
    /// Read bytes of a complete attachment.
    case read = "attachment.read"
    /// Ask for the length of a complete attachment.
    case info = "attachment.info"
    /// Discard an incomplete upload.
    case remove = "attachment.remove"

    /// The name of the method.
    package var name: MethodName { MethodName(rawValue)! }

    /// The method of a name; nil for any other name.
    package init?(_ name: MethodName) {
        self.init(rawValue: name.text)
    }
}
