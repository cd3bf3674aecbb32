/// A file in a message, or where it is (M-8).
public struct Attachment: Hashable, Sendable {
    /// The bytes of a file, or where they are.
    public enum Source: Hashable, Sendable {
        /// A place that the application understands, for example a URL, of 1 to ``maxLocationByteCount`` bytes.
        case location(String)
        /// The bytes, within the limit of a message.
        case data([UInt8])
    }

    /// The maximum number of bytes of a location.
    public static let maxLocationByteCount = 2048
    /// The maximum number of bytes of a file name.
    public static let maxNameByteCount = 256
    /// The maximum number of bytes of a media type.
    public static let maxMediaTypeByteCount = 128
    /// The number of bytes of a digest.
    public static let digestByteCount = 32
    /// The maximum number of bytes of a thumbnail.
    public static let maxThumbnailByteCount = 16 * 1024
    /// The location of an attachment at the relay, in the room of the message, whose name is the digest (M-20).
    public static let relayLocation = "martlet:attachment"

    /// The bytes of the file, or where they are.
    public var source: Source
    /// The number of bytes of the file. For ``Source/data(_:)`` it is the number of these bytes.
    public var byteCount: UInt64
    /// The name of the file, at most ``maxNameByteCount`` bytes. It is a text of another account, not a safe path.
    public var name: String?
    /// The media type (RFC 6838), at most ``maxMediaTypeByteCount`` bytes.
    public var mediaType: String?
    /// SHA-256 of the bytes, ``digestByteCount`` bytes.
    public var digest: [UInt8]?
    /// A text beside the file, which is not empty.
    public var caption: String?
    /// A small image of the file, at most ``maxThumbnailByteCount`` bytes (M-21).
    public var thumbnail: [UInt8]?

    /// The name of the attachment at the relay of the message's room; nil if its bytes are elsewhere (M-20).
    public var relayDigest: AttachmentDigest? {
        source == .location(Self.relayLocation) ? digest.flatMap { AttachmentDigest($0) } : nil
    }

    /// Creates an attachment with the bytes of the file.
    public init(
        data: [UInt8], name: String? = nil, mediaType: String? = nil, caption: String? = nil, thumbnail: [UInt8]? = nil
    ) {
        source = .data(data)
        byteCount = UInt64(data.count)
        self.name = name
        self.mediaType = mediaType
        self.caption = caption
        self.thumbnail = thumbnail
    }

    /// Creates an attachment whose bytes are elsewhere.
    public init(
        location: String, byteCount: UInt64, name: String? = nil, mediaType: String? = nil, digest: [UInt8]? = nil,
        caption: String? = nil, thumbnail: [UInt8]? = nil
    ) {
        source = .location(location)
        self.byteCount = byteCount
        self.name = name
        self.mediaType = mediaType
        self.digest = digest
        self.caption = caption
        self.thumbnail = thumbnail
    }

    /// Appends the fields.
    func encode(into writer: inout TLVWriter) {
        writer.append(.byteCount, uint64: byteCount)
        switch source {
        case .location(let location): writer.append(.location, string: location)
        case .data(let data): writer.append(.data, bytes: data)
        }
        if let name { writer.append(.name, string: name) }
        if let mediaType { writer.append(.mediaType, string: mediaType) }
        if let digest { writer.append(.digest, bytes: digest) }
        if let caption { writer.append(.text, string: caption) }
        if let thumbnail { writer.append(.thumbnail, bytes: thumbnail) }
    }
}
