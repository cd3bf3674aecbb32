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

    @inline(__always)
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
    /// The relay's stamp; nil on the way from a client.
    public let relay: RelayStamp?
    /// What is said.
    public let content: MessageContent
    /// How long after sending the message is worth delivering, in whole milliseconds.
    public var timeToLive: Duration? { timeToLiveCount.map { Duration(wireCount: $0, .milliseconds) } }
    private let timeToLiveCount: UInt32?

    /// A message; `timeToLive` is rounded down to milliseconds.
    ///
    /// - Precondition: counters start at 1.
    public init(counter: UInt64, content: MessageContent, timeToLive: Duration? = nil, relay: RelayStamp? = nil) {
        precondition(counter >= 1, "counters start at 1")
        self.counter = counter
        self.content = content
        self.relay = relay
        timeToLiveCount = timeToLive?.wireCount(.milliseconds)
    }

    /// A message of TLVs that the program wrote itself.
    ///
    /// - Precondition: counters start at 1; the content keeps ``ContentRules`` of its kind.
    public init(
        counter: UInt64, kind: ContentKind, content: [UInt8], timeToLive: Duration? = nil, relay: RelayStamp? = nil
    ) {
        guard let content = try? MessageContent(kind: kind, bytes: content) else {
            preconditionFailure("content breaks the rules of its kind")
        }
        self.init(counter: counter, content: content, timeToLive: timeToLive, relay: relay)
    }

    /// A copy of what a view shows.
    public init(_ view: borrowing MessageView) {
        var names = AccountNames()
        self.init(view, &names)
    }

    /// A copy of what a view shows, the sender's name taken from those seen lately if it is among them.
    public init(_ view: borrowing MessageView, _ names: inout AccountNames) {
        counter = view.counter
        content = MessageContent(view)
        timeToLiveCount = view.timeToLiveCount
        relay = RelayStamp(view, &names)
    }

    /// Parses a whole body; see ``MessageView`` for the errors.
    public init(parsing body: RawSpan) throws(WireError) {
        self.init(try MessageView(parsing: body))
    }

    /// The layout of the body that ``encode(into:)`` writes.
    public var layout: BodyLayout {
        guard timeToLiveCount == nil else { return .unknown }
        let layout = content.layout
        return relay == nil ? layout : layout.stamped
    }

    /// A copy of a text message.
    ///
    /// - Parameter relay: its stamp.
    public init(_ message: TextMessage, relay: RelayStamp?) {
        counter = message.counter
        content = MessageContent(validated: message.text)
        timeToLiveCount = nil
        self.relay = relay
    }

    /// What the content is.
    public var kind: ContentKind { content.kind }

    /// The text, when the kind is text.
    public var text: String? { content.text }

    /// Appends the body's fields, the relay's first.
    public func encode(into writer: inout TLVWriter) {
        if let relay { relay.encode(into: &writer) }
        writer.append(.counter, uint64: counter)
        writer.append(.kind, uint16: content.kind.rawValue)
        if let timeToLiveCount { writer.append(.timeToLive, uint32: timeToLiveCount) }
        content.encode(into: &writer)
    }

    /// The body of a client's message.
    ///
    /// - Precondition: counters start at 1; the content keeps ``ContentRules`` of its kind.
    public static func encodeClient(
        counter: UInt64, kind: ContentKind, content: [UInt8], timeToLive: Duration? = nil
    ) -> [UInt8] {
        Message(counter: counter, kind: kind, content: content, timeToLive: timeToLive).encode()
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
        MessageContent(text: text).bytes
    }
}

extension RelayStamp {
    /// What the relay says of a text message, the sender's name taken from those seen lately if it is among them; nil
    /// when the name breaks ``WireName``'s rules, or there is none.
    public init?(_ message: TextMessage, _ names: inout AccountNames) {
        guard message.isDelivery, let sender = names.name(message.sender) else { return nil }
        self.init(offset: message.offset, acceptedAt: message.acceptedAt, sender: sender, device: message.device)
    }

    /// The stamp that a view shows.
    fileprivate init?(_ view: borrowing MessageView, _ names: inout AccountNames) {
        guard let offset = view.offset, let acceptedAt = view.acceptedAt, let device = view.device,
            let bytes = view.sender, let sender = names.name(bytes)
        else { return nil }
        self.init(offset: offset, acceptedAt: acceptedAt, sender: sender, device: device)
    }
}
