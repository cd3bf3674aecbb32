/// The unreliable frame for typing, presence and short-lived contents of applications. It is neither acknowledged nor
/// stored (W-67).
package struct Transient: FrameBody {
    /// The type `transient`, 0x1001.
    package static let type = FrameType.transient

    /// The content of the frame, exactly one of three.
    package enum Content: Equatable, Sendable {
        /// Whether the sender is typing.
        case typing(Bool)
        /// The presence of the sender.
        case presence(Presence)
        /// A content of an application: a kind and its TLVs.
        case message(ContentKind, [UInt8])
    }

    /// The content.
    package let content: Content
    /// The account of the sender. The relay sets it.
    package let sender: AccountName?

    /// Creates the frame.
    ///
    /// - Precondition: The content of a message satisfies ``ContentRules``.
    package init(_ content: Content, sender: AccountName? = nil) {
        if case .message(let kind, let bytes) = content {
            precondition(ContentRules.allow(bytes, of: kind), "content breaks the rules of its kind")
        }
        self.content = content
        self.sender = sender
    }

    /// Creates the frame from its body.
    ///
    /// - Throws: The errors of ``FrameBody/init(parsing:)``; `invalidValue` if there is more than one content.
    package init(parsing body: RawSpan) throws(WireError) {
        var typing: Bool?
        var presence: Presence?
        var kind: ContentKind?
        var content: [UInt8]?
        var sender: AccountName?
        var reader = try TLVReader(wholeBodyWithContent: body)
        while let field = try reader.next() {
            switch field.tag {
            case .typing: try typing.fill(.typing, field.bool())
            case .presence: try presence.fill(.presence, field.presence())
            case .kind: try kind.fill(.kind, ContentKind(rawValue: field.uint16()))
            case .content: try content.fill(.content, field.content())
            case .sender: try sender.fill(.sender, field.name())
            default: try field.skip()
            }
        }
        self.sender = sender
        switch (typing, presence, kind == nil && content == nil) {
        case (let typing?, nil, true): self.content = .typing(typing)
        case (nil, let presence?, true): self.content = .presence(presence)
        case (nil, nil, _):
            let bytes = try content.required(.content)
            let kind = try kind.required(.kind)
            try ContentRules.check(bytes.rawBytes, of: kind)
            self.content = .message(kind, bytes)
        case (nil, _, _): throw .invalidValue(.presence)
        default: throw .invalidValue(.typing)
        }
    }

    /// Appends the fields of the body.
    package func encode(into writer: inout TLVWriter) {
        switch content {
        case .typing(let isTyping): writer.append(.typing, uint8: isTyping ? 1 : 0)
        case .presence(let presence): writer.append(.presence, uint8: presence.rawValue)
        case .message(let kind, let bytes):
            writer.append(.kind, uint16: kind.rawValue)
            writer.append(.content, bytes: bytes)
        }
        if let sender { writer.append(.sender, name: sender) }
    }
}

extension TLVView {
    func presence() throws(WireError) -> Transient.Presence {
        guard let presence = Transient.Presence(rawValue: try uint8()) else { throw .invalidValue(tag) }
        return presence
    }
}
