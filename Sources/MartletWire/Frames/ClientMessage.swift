/// A client's message after validation by a relay: its borrowed body, or its values if it arrived in a compact form.
@usableFromInline
package struct ClientMessage: ~Escapable, BitwiseCopyable {
    /// The counter of the message, at least 1.
    package let counter: UInt64
    /// The number of bytes of the body.
    package let byteCount: Int
    /// The layout of the body.
    package let layout: BodyLayout
    /// The body, or only the text.
    private let bytes: RawSpan
    private let isText: Bool

    /// Creates the message from a parsed body; nil if it contains the fields of a relay, or its kind is `erased`
    /// (M-37).
    @_lifetime(copy view)
    package init?(_ view: MessageView) {
        guard !view.hasRelayFields else { return nil }
        self.init(counter: view.counter, body: view.body, layout: view.layout)
        if layout == .unknown, view.kind == .erased { return nil }
    }

    /// Creates the message from values; nil if they contain the fields of a relay.
    @_lifetime(copy message)
    package init?(_ message: TextMessage) {
        guard !message.isDelivery else { return nil }
        counter = message.counter
        byteCount = message.byteCount
        layout = BodyLayout(of: message.text, isDelivery: false)
        bytes = message.text
        isText = true
    }

    /// Creates the message from a body that was parsed before.
    @_lifetime(copy body)
    package init(counter: UInt64, body: RawSpan, layout: BodyLayout) {
        self.counter = counter
        byteCount = body.byteCount
        self.layout = layout
        bytes = body
        isText = false
    }

    /// Whether the message is an edit or a deletion.
    @usableFromInline
    package var isChange: Bool {
        guard !isText, !layout.isMessage, let kind = MessageView.kind(in: bytes) else { return false }
        return kind == .edit || kind == .delete
    }

    /// The content of an edit or a deletion; nil if it is damaged (M-1).
    package var change: MessageBody? {
        do throws(WireError) {
            return isChange ? try MessageBody(MessageContent(try MessageView(parsing: bytes))) : nil
        } catch {
            return nil
        }
    }

    /// The digest of the kind and the content: the lower 16 bits of their CRC-32, or 1 if these are 0. The
    /// other fields can differ when a client sends the message again.
    package var digest: UInt16 {
        let checksum: UInt32
        if isText {
            let head =
                UInt64(ContentKind.text.rawValue) << 48 | UInt64(Tag.text.rawValue) << 32 | UInt64(bytes.byteCount)
            checksum = CRC32.checksum(bytes, continuing: CRC32.checksum(head))
        } else if layout != .unknown {
            checksum = Self.checksum(
                bytes.extracting(Self.kindOffset..<Self.kindOffset + 2),
                bytes.extracting(droppingFirst: Self.contentOffset))
        } else {
            checksum = Self.checksum(ofFieldsOf: bytes)
        }
        return max(UInt16(truncatingIfNeeded: checksum), 1)
    }

    /// The offset of the kind in a laid out body: behind the counter.
    private static var kindOffset: Int { 2 * TLVLimits.headByteCount + 8 }
    /// The offset of the content's TLVs in a laid out body.
    private static var contentOffset: Int { kindOffset + 2 + TLVLimits.headByteCount }

    private static func checksum(_ kind: RawSpan, _ content: RawSpan) -> UInt32 {
        CRC32.checksum(content, continuing: CRC32.checksum(kind))
    }

    /// The checksum of the kind and the content of a valid body, in which the fields have any order.
    private static func checksum(ofFieldsOf body: RawSpan) -> UInt32 {
        var reader = TLVReader(body)
        var (kind, content) = (RawSpan(), RawSpan())
        while let field = try? reader.next() {
            if field.tag == .kind { kind = field.value }
            if field.tag == .content { content = field.value }
        }
        return checksum(kind, content)
    }

    /// Appends the body.
    package func encode(into writer: inout TLVWriter) {
        guard isText else { return writer.append(encoded: bytes) }
        TextMessage(counter: counter, text: bytes).encode(into: &writer)
    }
}
