/// A client's message after validation by a relay: its borrowed body, or its values if it arrived in a compact form.
public struct ClientMessage: ~Escapable, BitwiseCopyable {
    /// The counter of the message, at least 1.
    public let counter: UInt64
    /// The number of bytes of the body.
    public let byteCount: Int
    /// The layout of the body.
    public let layout: BodyLayout
    /// The body, or only the text.
    private let bytes: RawSpan
    private let isText: Bool

    /// Creates the message from a parsed body; nil if it contains the fields of a relay.
    @_lifetime(copy view)
    public init?(_ view: MessageView) {
        guard !view.hasRelayFields else { return nil }
        self.init(counter: view.counter, body: view.body, layout: view.layout)
    }

    /// Creates the message from values; nil if they contain the fields of a relay.
    @_lifetime(copy message)
    public init?(_ message: TextMessage) {
        guard !message.isDelivery else { return nil }
        counter = message.counter
        byteCount = message.byteCount
        layout = BodyLayout(of: message.text, isDelivery: false)
        bytes = message.text
        isText = true
    }

    /// Creates the message from a body that was parsed before.
    @_lifetime(copy body)
    public init(counter: UInt64, body: RawSpan, layout: BodyLayout) {
        self.counter = counter
        byteCount = body.byteCount
        self.layout = layout
        bytes = body
        isText = false
    }

    /// The edit or the deletion that the message is; nil for another kind, whose content is not parsed, and for a
    /// damaged content (M-1).
    public var change: MessageBody? {
        guard !isText, !layout.isMessage, let kind = MessageView.kind(in: bytes), kind == .edit || kind == .delete
        else {
            return nil
        }
        do throws(WireError) {
            return try MessageBody(MessageContent(try MessageView(parsing: bytes)))
        } catch {
            return nil
        }
    }

    /// Appends the body.
    public func encode(into writer: inout TLVWriter) {
        guard isText else { return writer.append(encoded: bytes) }
        TextMessage(counter: counter, text: bytes).encode(into: &writer)
    }
}
