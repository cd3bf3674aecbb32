public import MartletWire

/// A message to be sent.
public struct OutgoingMessage: Sendable, Equatable {
    /// What it says.
    public let content: MessageContent
    /// How long the message may wait to be handed to a connection; nil is for ever.
    public let timeToLive: Duration?
    /// Whether it may be compressed where the client compresses messages; not, when it holds a secret beside text of
    /// another's choosing.
    public let isCompressible: Bool

    /// A text.
    ///
    /// - Throws: `invalidContent` when the text is empty.
    public init(text: String, timeToLive: Duration? = nil, isCompressible: Bool = true) throws(MartletError) {
        guard !text.isEmpty else { throw .invalidContent("a text message has a text") }
        content = MessageContent(text: text)
        self.timeToLive = timeToLive
        self.isCompressible = isCompressible
    }

    /// A content of another kind: TLVs, as Specs/wire.md §4 has them.
    ///
    /// - Throws: `invalidContent` when `content` is not well-formed, or not what its kind asks for.
    public init(
        kind: ContentKind, content: [UInt8], timeToLive: Duration? = nil, isCompressible: Bool = true
    ) throws(MartletError) {
        do throws(WireError) { self.content = try MessageContent(kind: kind, bytes: content) } catch {
            throw .invalidContent("\(error)")
        }
        self.timeToLive = timeToLive
        self.isCompressible = isCompressible
    }

    init(_ content: MessageContent, timeToLive: Duration?, isCompressible: Bool) {
        self.content = content
        self.timeToLive = timeToLive
        self.isCompressible = isCompressible
    }
}

func check(_ content: [UInt8], of kind: ContentKind? = nil) throws(MartletError) {
    do throws(WireError) { try ContentRules.check(content.rawBytes, of: kind) } catch {
        throw .invalidContent("\(error)")
    }
}
