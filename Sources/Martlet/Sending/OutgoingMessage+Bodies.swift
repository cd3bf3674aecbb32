public import MartletWire

/// Messages of the kinds that Specs/messages.md specifies.
extension OutgoingMessage {
    /// Creates a message with a body.
    ///
    /// - Throws: `invalidContent` if a value of the body is out of its bounds.
    public init(
        body: MessageBody, timeToLive: Duration? = nil, isCompressible: Bool = true
    ) throws(MartletError) {
        do throws(WireError) {
            self.init(try body.content, timeToLive: timeToLive, isCompressible: isCompressible)
        } catch {
            throw .invalidContent(causedBy: error)
        }
    }

    /// Creates a message with a value of the application, which ``RoomMessage/decode(_:)`` returns.
    ///
    /// - Parameters:
    ///   - value: The value, nested at most `ContentValue.maxDepth` deep.
    ///   - kind: `command`, or a kind of the application.
    ///   - timeToLive: The duration after which the message fails if it was not written to a connection.
    ///   - isCompressible: Whether the message may be compressed.
    /// - Throws: `invalidContent` if the value cannot be encoded, or the kind is another.
    public init(
        _ value: some Encodable, kind: ContentKind = .command, timeToLive: Duration? = nil, isCompressible: Bool = true
    ) throws(MartletError) {
        guard kind == .command || kind.isApplicationDefined else {
            throw .invalidContent("the kind is neither command nor one of the application")
        }
        try self.init(
            kind: kind, content: try encoded(value), timeToLive: timeToLive, isCompressible: isCompressible)
    }

    /// A text (M-1).
    ///
    /// - Throws: `invalidContent` if the text is empty.
    public static func text(_ text: String) throws(MartletError) -> OutgoingMessage { try OutgoingMessage(text: text) }

    /// A text in reply to a message (M-3).
    ///
    /// - Throws: `invalidContent` if the text is empty.
    public static func reply(to target: MessageReference, text: String) throws(MartletError) -> OutgoingMessage {
        try OutgoingMessage(body: .reply(to: target, text: text))
    }

    /// An edit, which replaces the text of a message of this account (M-4). ``MessageHandle/edit(_:)`` changes a
    /// message before it is sent.
    ///
    /// - Throws: `invalidContent` if the text is empty.
    public static func edit(of target: MessageReference, text: String) throws(MartletError) -> OutgoingMessage {
        try OutgoingMessage(body: .edit(of: target, text: text))
    }

    /// The deletion of a message of this account, or of any message for a moderator (M-5).
    public static func delete(_ target: MessageReference) throws(MartletError) -> OutgoingMessage {
        try OutgoingMessage(body: .delete(target))
    }

    /// A reaction to a message, or its removal (M-6).
    ///
    /// - Throws: `invalidContent` if the reaction is empty or longer than `MessageBody.maxReactionByteCount`.
    public static func reaction(
        _ reaction: String, to target: MessageReference, isRemoved: Bool = false
    ) throws(MartletError) -> OutgoingMessage {
        try OutgoingMessage(body: .reaction(reaction, to: target, isRemoved: isRemoved))
    }

    /// An event of the application (M-7).
    ///
    /// - Parameters:
    ///   - event: The name of the event, for example `call.started`.
    ///   - text: A text for readers that do not know the event.
    /// - Throws: `invalidName` if the name is not valid; `invalidContent` if the text is empty.
    public static func system(event: String, text: String? = nil) throws(MartletError) -> OutgoingMessage {
        guard let name = EventName(event) else { throw .invalidName(event) }
        return try OutgoingMessage(body: .system(event: name, text: text))
    }

    /// The status of a source, which replaces the earlier one of this account with the same name (M-39).
    public static func card(_ card: StatusCard) throws(MartletError) -> OutgoingMessage {
        try OutgoingMessage(body: .card(card))
    }

    /// An attachment: a file, or its location (M-8).
    ///
    /// - Throws: `invalidContent` if a value of the attachment is out of its bounds.
    public static func attachment(_ attachment: Attachment) throws(MartletError) -> OutgoingMessage {
        try OutgoingMessage(body: .attachment(attachment))
    }
}
