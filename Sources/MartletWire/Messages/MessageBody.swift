/// The content of a message by its kind (M-1).
public enum MessageBody: Hashable, Sendable {
    /// A text.
    case text(String)
    /// Another text for a message (M-4). `MessageChange` decides whether it counts.
    case edit(of: MessageReference, text: String)
    /// The deletion of a message (M-5).
    case delete(MessageReference)
    /// A reaction of 1 to ``maxReactionByteCount`` bytes to a message, or its removal (M-6).
    case reaction(String, to: MessageReference, isRemoved: Bool)
    /// A text in reply to a message (M-3).
    case reply(to: MessageReference, text: String)
    /// An event of the application, with a text for readers that do not know the event (M-7).
    case system(event: EventName, text: String?)
    /// A file, or where it is (M-8).
    case attachment(Attachment)
    /// A value of the application (M-14).
    case command(ContentValue)
    /// The status of a source (M-39).
    case card(StatusCard)
    /// A kind without a specification of its content.
    case other(ContentKind)

    /// The maximum number of bytes of a reaction.
    public static let maxReactionByteCount = 64

    /// Creates a body from a content (M-1).
    ///
    /// - Throws: `missingField`, `duplicateField`, `invalidValue` or `unknownCriticalTag` if the content is damaged.
    public init(_ content: MessageContent) throws(WireError) {
        switch content.kind {
        case .text:
            guard let text = content.text else { throw .missingField(.text) }
            self = .text(text)
        case .edit:
            let fields = try Fields(content, [.target, .text])
            self = .edit(of: try fields.target.required(.target), text: try fields.text.required(.text))
        case .delete:
            self = .delete(try Fields(content, [.target]).target.required(.target))
        case .reaction:
            let fields = try Fields(content, [.target, .reaction, .removed])
            self = .reaction(
                try fields.reaction.required(.reaction), to: try fields.target.required(.target),
                isRemoved: fields.isRemoved ?? false)
        case .reply:
            let fields = try Fields(content, [.target, .text])
            self = .reply(to: try fields.target.required(.target), text: try fields.text.required(.text))
        case .system:
            let fields = try Fields(content, [.event, .text])
            self = .system(event: try fields.event.required(.event), text: fields.text)
        case .attachment:
            let tags: [Tag] = [.byteCount, .location, .data, .name, .mediaType, .digest, .text, .thumbnail]
            self = .attachment(try Fields(content, tags).attachment())
        case .command: self = .command(try ContentValue(content: content.bytes.rawBytes))
        case .card: self = .card(try StatusCard(content))
        default: self = .other(content.kind)
        }
    }

    /// The kind of the content.
    public var kind: ContentKind {
        switch self {
        case .text: .text
        case .edit: .edit
        case .delete: .delete
        case .reaction: .reaction
        case .reply: .reply
        case .system: .system
        case .attachment: .attachment
        case .command: .command
        case .card: .card
        case .other(let kind): kind
        }
    }

    /// The text of a text or a reply, or the caption of an attachment; nil for other kinds. The text of an edit belongs
    /// to another message.
    public var text: String? {
        switch self {
        case .text(let text), .reply(_, let text): text
        case .attachment(let attachment): attachment.caption
        case .edit, .delete, .reaction, .system, .command, .card, .other: nil
        }
    }

    /// The encoded content.
    ///
    /// - Throws: The errors of ``init(_:)`` if a value is out of its bounds; `invalidValue` for ``other(_:)``, whose
    ///   fields are unknown; the errors of `ContentRules.check(_:of:)`.
    public var content: MessageContent {
        get throws(WireError) {
            var writer = TLVWriter()
            switch self {
            case .text(let text): writer.append(.text, string: text)
            case .edit(let target, let text), .reply(let target, let text):
                target.encode(into: &writer)
                writer.append(.text, string: text)
            case .delete(let target): target.encode(into: &writer)
            case .reaction(let reaction, let target, let isRemoved):
                target.encode(into: &writer)
                writer.append(.reaction, string: reaction)
                if isRemoved { writer.append(.removed, uint8: 1) }
            case .system(let event, let text):
                writer.append(.event, name: event)
                if let text { writer.append(.text, string: text) }
            case .attachment(let attachment): attachment.encode(into: &writer)
            case .command(let value): try value.encode(into: &writer)
            case .card(let card): card.encode(into: &writer)
            case .other: throw .invalidValue(.kind)
            }
            let content = try MessageContent(kind: kind, bytes: writer.bytes)
            _ = try MessageBody(content)
            return content
        }
    }

    /// The fields of all kinds but values and cards (M-1).
    private struct Fields {
        var target: MessageReference?
        var text: String?
        var reaction: String?
        var isRemoved: Bool?
        var event: EventName?
        var byteCount: UInt64?
        var location: String?
        var data: [UInt8]?
        var name: String?
        var mediaType: String?
        var digest: [UInt8]?
        var thumbnail: [UInt8]?

        /// Reads the fields that the kind has, and skips others.
        init(_ content: MessageContent, _ tags: [Tag]) throws(WireError) {
            let bytes = content.bytes
            var reader = TLVReader(bytes.rawBytes)
            while let field = try reader.next() {
                guard tags.contains(field.tag) else {
                    try field.skip()
                    continue
                }
                try read(field)
            }
        }

        private mutating func read(_ field: TLVView) throws(WireError) {
            switch field.tag {
            case .target: try target.fill(.target, MessageReference(field))
            case .text: try text.fill(.text, field.string(minByteCount: 1, maxByteCount: .max))
            case .reaction:
                try reaction.fill(.reaction, field.string(minByteCount: 1, maxByteCount: maxReactionByteCount))
            case .removed: try isRemoved.fill(.removed, field.bool())
            case .event: try event.fill(.event, field.name())
            case .byteCount: try byteCount.fill(.byteCount, field.uint64())
            case .location:
                let text = try field.string(minByteCount: 1, maxByteCount: Attachment.maxLocationByteCount)
                try location.fill(.location, text)
            case .data: try data.fill(.data, field.bytes())
            case .name: try name.fill(.name, field.string(maxByteCount: Attachment.maxNameByteCount))
            case .mediaType:
                try mediaType.fill(.mediaType, field.string(maxByteCount: Attachment.maxMediaTypeByteCount))
            case .thumbnail:
                guard field.value.byteCount <= Attachment.maxThumbnailByteCount else { throw .invalidValue(.thumbnail) }
                try thumbnail.fill(.thumbnail, field.bytes())
            default:
                guard field.value.byteCount == Attachment.digestByteCount else { throw .invalidValue(field.tag) }
                try digest.fill(.digest, field.bytes())
            }
        }

        /// The bytes are either here or elsewhere (M-8).
        func attachment() throws(WireError) -> Attachment {
            let byteCount = try byteCount.required(.byteCount)
            var attachment: Attachment
            switch (location, data) {
            case (let location?, nil): attachment = Attachment(location: location, byteCount: byteCount)
            case (nil, let data?):
                guard UInt64(data.count) == byteCount else { throw .invalidValue(.byteCount) }
                attachment = Attachment(data: data)
            case (nil, nil): throw .missingField(.location)
            default: throw .invalidValue(.location)
            }
            attachment.name = name
            attachment.mediaType = mediaType
            attachment.digest = digest
            attachment.caption = text
            attachment.thumbnail = thumbnail
            if attachment.source == .location(Attachment.relayLocation), digest == nil {
                throw .missingField(.digest)  // M-20
            }
            return attachment
        }
    }
}

extension MessageBody {
    /// The body with the text of an edit (M-4).
    package func edited(_ text: String) -> MessageBody {
        switch self {
        case .text: return .text(text)
        case .reply(let target, _): return .reply(to: target, text: text)
        case .attachment(var attachment):
            attachment.caption = text
            return .attachment(attachment)
        case .edit, .delete, .reaction, .system, .command, .card, .other: return self
        }
    }

    /// Whether an edit replaces the text (M-4).
    package var isEditable: Bool {
        switch self {
        case .text, .reply, .attachment: true
        case .edit, .delete, .reaction, .system, .command, .card, .other: false
        }
    }
}

/// The name of an event in a system message, 1 to 64 bytes, for example `call.started` (M-7).
public struct EventName: WireName {
    /// The maximum number of bytes of UTF-8.
    public static let maxByteCount = 64
    /// The text of the name.
    public let text: String

    /// Creates a name; nil if the text violates the rules of ``WireName``.
    public init?(_ text: String) {
        guard Self.accepts(text) else { return nil }
        self.text = text
    }
}
