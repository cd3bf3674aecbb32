public import MartletWire

/// A message to be sent by ``Room/send(_:)-(OutgoingMessage)``.
public struct OutgoingMessage: Sendable, Hashable {
    /// The content of the message.
    public let content: MessageContent
    /// The duration after which the message fails with `expired` if it was not written to a connection; nil if it is
    /// unlimited.
    public let timeToLive: Duration?
    /// Whether the message may be compressed by a client with `Configuration.compressesMessages`. Set it to false if
    /// the content contains a secret beside text from another user.
    public let isCompressible: Bool
    /// The path of the file that is uploaded before the message is published; nil if there is none.
    public internal(set) var file: String?
    /// The dead letter that this message replaces.
    var replacedLetter: MessageID?

    /// Creates a text message.
    ///
    /// - Throws: `invalidContent` if the text is empty.
    public init(text: String, timeToLive: Duration? = nil, isCompressible: Bool = true) throws(MartletError) {
        guard !text.isEmpty else { throw .invalidContent("the text of a message is empty") }
        content = MessageContent(text: text)
        self.timeToLive = timeToLive
        self.isCompressible = isCompressible
    }

    /// Creates a text message.
    ///
    /// - Throws: `invalidContent` if the text is empty.
    public init(_ text: String) throws(MartletError) { try self.init(text: text) }

    /// Creates a message with any content.
    ///
    /// - Parameters:
    ///   - kind: The type of the content.
    ///   - content: TLVs in the encoding of Specs/wire.md §4.
    ///   - timeToLive: The duration after which the message fails if it was not written to a connection.
    ///   - isCompressible: Whether the message may be compressed.
    /// - Throws: `invalidContent` if `content` is not well-formed, or lacks a field that its kind requires.
    public init(
        kind: ContentKind, content: [UInt8], timeToLive: Duration? = nil, isCompressible: Bool = true
    ) throws(MartletError) {
        do throws(WireError) { self.content = try MessageContent(kind: kind, bytes: content) } catch {
            throw .invalidContent(causedBy: error)
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
        throw .invalidContent(causedBy: error)
    }
}
