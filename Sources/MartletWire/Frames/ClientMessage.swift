/// A client's message that a relay has checked: where its body lies, or its values where it came without one.
public struct ClientMessage: ~Escapable, BitwiseCopyable {
    /// The sender's number for the message.
    public let counter: UInt64
    /// How many bytes the body takes.
    public let byteCount: Int
    /// The layout of the body.
    public let layout: BodyLayout
    /// The body, or the text alone.
    private let bytes: RawSpan
    private let isText: Bool

    /// The message of a body; nil when it has the relay's fields.
    @_lifetime(copy view)
    public init?(_ view: MessageView) {
        guard !view.hasRelayFields else { return nil }
        self.init(counter: view.counter, body: view.body, layout: view.layout)
    }

    /// The message of values; nil when it has the relay's fields.
    @_lifetime(copy message)
    public init?(_ message: TextMessage) {
        guard !message.isDelivery else { return nil }
        counter = message.counter
        byteCount = message.byteCount
        layout = BodyLayout(of: message.text, isDelivery: false)
        bytes = message.text
        isText = true
    }

    /// The message of a body that has been checked before.
    @_lifetime(copy body)
    public init(counter: UInt64, body: RawSpan, layout: BodyLayout) {
        self.counter = counter
        byteCount = body.byteCount
        self.layout = layout
        bytes = body
        isText = false
    }

    /// Appends the body.
    public func encode(into writer: inout TLVWriter) {
        guard isText else { return writer.append(encoded: bytes) }
        TextMessage(counter: counter, text: bytes).encode(into: &writer)
    }
}
