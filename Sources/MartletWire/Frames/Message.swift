/// What the relay says of a message that it took.
public struct RelayStamp: Hashable, Sendable {
    /// The message's place in the room, at least 1.
    public let offset: UInt64
    /// When the relay took it, in milliseconds since 1970 by its clock.
    public let acceptedAt: UInt64
    /// Who sent it.
    public let sender: AccountName
    /// The device that sent it.
    public let device: DeviceID

    /// A stamp.
    ///
    /// - Precondition: offsets start at 1.
    public init(offset: UInt64, acceptedAt: UInt64, sender: AccountName, device: DeviceID) {
        precondition(offset >= 1, "offsets start at 1")
        self.offset = offset
        self.acceptedAt = acceptedAt
        self.sender = sender
        self.device = device
    }

    /// The most bytes that a stamp puts in front of a client's body.
    public static let maxByteCount =
        MessageView.relayFieldCount * TLVLimits.headByteCount + 3 * 8 + AccountName.maxByteCount

    func encode(into writer: inout TLVWriter) {
        writer.append(.offset, uint64: offset)
        writer.append(.acceptedAt, uint64: acceptedAt)
        writer.append(.device, uint64: device.rawValue)
        writer.append(.sender, name: sender)
    }
}

/// The body of a `data` frame, after reassembly, with bytes of its own. ``MessageView`` is the same without copies.
public struct Message: FrameBody {
    /// `data`, 0x1000.
    public static let type = FrameType.data

    /// The sender's number for the message, at least 1.
    public let counter: UInt64
    /// What the content is.
    public let kind: ContentKind
    /// The content's TLVs; they keep ``ContentRules``.
    public let content: [UInt8]
    /// How long after sending the message is worth delivering, in whole milliseconds.
    public let timeToLive: Duration?
    /// The relay's stamp; nil on the way from a client.
    public let relay: RelayStamp?

    /// A message; `timeToLive` is rounded down to milliseconds.
    ///
    /// - Precondition: counters start at 1; the content keeps ``ContentRules`` of its kind.
    public init(
        counter: UInt64, kind: ContentKind, content: [UInt8], timeToLive: Duration? = nil, relay: RelayStamp? = nil
    ) {
        precondition(counter >= 1, "counters start at 1")
        precondition(ContentRules.allow(content, of: kind), "content breaks the rules of its kind")
        self.counter = counter
        self.kind = kind
        self.content = content
        self.timeToLive = timeToLive?.roundedDown(to: .milliseconds)
        self.relay = relay
    }

    /// A copy of what a view shows.
    public init(_ view: borrowing MessageView) {
        counter = view.counter
        kind = view.kind
        content = [UInt8](copying: view.content)
        timeToLive = view.timeToLive
        relay = RelayStamp(view)
    }

    /// Parses a whole body; see ``MessageView`` for the errors.
    public init(parsing body: RawSpan) throws(WireError) {
        self.init(try MessageView(parsing: body))
    }

    /// The text, when the kind is text.
    public var text: String? {
        guard kind == .text, let place = try? ContentRules.textPlace(in: content.rawBytes) else { return nil }
        return String(validated: content.rawBytes.value(at: place))
    }

    /// Appends the body's fields, the relay's first.
    public func encode(into writer: inout TLVWriter) {
        relay?.encode(into: &writer)
        Self.encodeClient(counter: counter, kind: kind, content: content, timeToLive: timeToLive, into: &writer)
    }

    /// The body of a client's message.
    ///
    /// - Precondition: counters start at 1; the content keeps ``ContentRules`` of its kind.
    public static func encodeClient(
        counter: UInt64, kind: ContentKind, content: [UInt8], timeToLive: Duration? = nil
    ) -> [UInt8] {
        precondition(counter >= 1, "counters start at 1")
        precondition(ContentRules.allow(content, of: kind), "content breaks the rules of its kind")
        var writer = TLVWriter(reserving: content.count + 4 * TLVLimits.headByteCount + 14)
        encodeClient(counter: counter, kind: kind, content: content, timeToLive: timeToLive, into: &writer)
        return writer.bytes
    }

    /// The body of a message on its way from the relay: the stamp, then the client's own bytes unchanged (W-61, R-2).
    ///
    /// `clientBody` is one that ``MessageView`` has parsed and found without the relay's fields.
    ///
    /// - Precondition: offsets start at 1.
    public static func encodeRelay(
        offset: UInt64, acceptedAt: UInt64, sender: AccountName, device: DeviceID, clientBody: RawSpan
    ) -> [UInt8] {
        var writer = TLVWriter(reserving: clientBody.byteCount + RelayStamp.maxByteCount)
        RelayStamp(offset: offset, acceptedAt: acceptedAt, sender: sender, device: device).encode(into: &writer)
        writer.append(encoded: clientBody)
        return writer.bytes
    }

    /// The content of a text message.
    ///
    /// - Precondition: the text is not empty.
    public static func textContent(_ text: String) -> [UInt8] {
        precondition(!text.isEmpty, "a text message has a text")
        var writer = TLVWriter(reserving: text.utf8.count + TLVLimits.headByteCount)
        writer.append(.text, string: text)
        return writer.bytes
    }

    private static func encodeClient(
        counter: UInt64, kind: ContentKind, content: [UInt8], timeToLive: Duration?, into writer: inout TLVWriter
    ) {
        writer.append(.counter, uint64: counter)
        writer.append(.kind, uint16: kind.rawValue)
        if let timeToLive { writer.append(.timeToLive, duration: timeToLive, .milliseconds) }
        writer.append(.content, bytes: content)
    }
}

extension RelayStamp {
    /// The stamp that a view shows.
    init?(_ view: borrowing MessageView) {
        guard let offset = view.offset, let acceptedAt = view.acceptedAt, let device = view.device,
            let bytes = view.sender, let sender = AccountName(String(validated: bytes))
        else { return nil }
        self.init(offset: offset, acceptedAt: acceptedAt, sender: sender, device: device)
    }
}
