/// The fields that the relay adds to a message that it has accepted.
public struct RelayStamp: Hashable, Sendable {
    /// The offset of the message in the room's log, at least 1.
    public let offset: UInt64
    /// The time at which the relay accepted the message, in milliseconds since 1970 by the relay's clock.
    public let acceptedAt: UInt64
    /// The account of the publisher.
    public let sender: AccountName
    /// The device of the publisher.
    public let device: DeviceID

    /// Creates a stamp.
    ///
    /// - Precondition: The offset is at least 1.
    public init(offset: UInt64, acceptedAt: UInt64, sender: AccountName, device: DeviceID) {
        precondition(offset >= 1, "offsets start at 1")
        self.offset = offset
        self.acceptedAt = acceptedAt
        self.sender = sender
        self.device = device
    }

    /// The maximum number of bytes that a stamp adds to a client's body.
    package static let maxByteCount =
        MessageView.relayFieldCount * TLVLimits.headByteCount + 3 * 8 + AccountName.maxByteCount

    @inline(__always)
    func encode(into writer: inout TLVWriter) {
        writer.append(.offset, uint64: offset)
        writer.append(.acceptedAt, uint64: acceptedAt)
        writer.append(.device, uint64: device.rawValue)
        writer.append(.sender, name: sender)
    }

    /// Replaces the offset in a body with a stamp that `encode` has written.
    package static func setOffset(_ offset: UInt64, of body: inout [UInt8]) {
        for index in 0..<8 {
            body[TLVLimits.headByteCount + index] = UInt8(truncatingIfNeeded: offset >> (56 - 8 * index))
        }
    }
}

/// The body of a `data` frame after reassembly, with its own copy of the bytes. ``MessageView`` borrows the bytes
/// instead.
package struct Message: FrameBody {
    /// The type `data`, 0x1000.
    package static let type = FrameType.data

    /// The counter of the message, at least 1.
    package let counter: UInt64
    /// The stamp of the relay; nil in a message of a client.
    package let relay: RelayStamp?
    /// The content.
    package let content: MessageContent
    /// The duration after sending for which the message is useful to a reader, in whole milliseconds.
    package var timeToLive: Duration? { timeToLiveCount.map { Duration(wireCount: $0, .milliseconds) } }
    private let timeToLiveCount: UInt32?

    /// Creates a message. `timeToLive` is rounded down to milliseconds.
    ///
    /// - Precondition: The counter is at least 1.
    package init(counter: UInt64, content: MessageContent, timeToLive: Duration? = nil, relay: RelayStamp? = nil) {
        precondition(counter >= 1, "counters start at 1")
        self.counter = counter
        self.content = content
        self.relay = relay
        timeToLiveCount = timeToLive?.wireCount(.milliseconds)
    }

    /// Creates a message with encoded content.
    ///
    /// - Precondition: The counter is at least 1, and the content satisfies the ``ContentRules`` of its kind.
    package init(
        counter: UInt64, kind: ContentKind, content: [UInt8], timeToLive: Duration? = nil, relay: RelayStamp? = nil
    ) {
        guard let content = try? MessageContent(kind: kind, bytes: content) else {
            preconditionFailure("content breaks the rules of its kind")
        }
        self.init(counter: counter, content: content, timeToLive: timeToLive, relay: relay)
    }

    /// Creates a message with a copy of a view's fields.
    package init(_ view: borrowing MessageView) {
        var names = AccountNames()
        self.init(view, &names)
    }

    /// Creates a message with a copy of a view's fields. The name of the publisher is taken from a cache of recent
    /// names.
    package init(_ view: borrowing MessageView, _ names: inout AccountNames) {
        counter = view.counter
        content = MessageContent(view)
        timeToLiveCount = view.timeToLiveCount
        relay = RelayStamp(view, &names)
    }

    /// Creates a message from its body.
    ///
    /// - Throws: The errors of ``MessageView/init(parsing:)``.
    package init(parsing body: RawSpan) throws(WireError) {
        self.init(try MessageView(parsing: body))
    }

    /// The layout of the body that ``encode(into:)`` writes.
    package var layout: BodyLayout {
        guard timeToLiveCount == nil else { return .unknown }
        let layout = content.layout
        return relay == nil ? layout : layout.stamped
    }

    /// Creates a copy of a text message.
    ///
    /// - Parameters:
    ///   - message: The text message.
    ///   - relay: The stamp of the relay; nil in a message of a client.
    package init(_ message: TextMessage, relay: RelayStamp?) {
        counter = message.counter
        content = MessageContent(validated: message.text)
        timeToLiveCount = nil
        self.relay = relay
    }

    /// The kind of the content.
    package var kind: ContentKind { content.kind }

    /// The text; nil if the content is of another kind.
    package var text: String? { content.text }

    /// Appends the fields of the body, those of the relay first.
    package func encode(into writer: inout TLVWriter) {
        if let relay { relay.encode(into: &writer) }
        writer.append(.counter, uint64: counter)
        writer.append(.kind, uint16: content.kind.rawValue)
        if let timeToLiveCount { writer.append(.timeToLive, uint32: timeToLiveCount) }
        content.encode(into: &writer)
    }

    /// Returns the encoded body of a client's message.
    ///
    /// - Precondition: The counter is at least 1, and the content satisfies the ``ContentRules`` of its kind.
    package static func encodeClient(
        counter: UInt64, kind: ContentKind, content: [UInt8], timeToLive: Duration? = nil
    ) -> [UInt8] {
        Message(counter: counter, kind: kind, content: content, timeToLive: timeToLive).encode()
    }

    /// Returns the encoded body of a relay's message: the stamp, then the client's body unchanged (W-61, R-2).
    ///
    /// - Parameter clientBody: A body that ``MessageView`` has parsed, without the fields of a relay.
    /// - Precondition: The offset is at least 1.
    package static func encodeRelay(
        offset: UInt64, acceptedAt: UInt64, sender: AccountName, device: DeviceID, clientBody: RawSpan
    ) -> [UInt8] {
        var writer = TLVWriter(reserving: clientBody.byteCount + RelayStamp.maxByteCount)
        RelayStamp(offset: offset, acceptedAt: acceptedAt, sender: sender, device: device).encode(into: &writer)
        writer.append(encoded: clientBody)
        return writer.bytes
    }

    /// Returns the encoded content of a text message.
    ///
    /// - Precondition: The text is not empty.
    package static func textContent(_ text: String) -> [UInt8] {
        MessageContent(text: text).bytes
    }
}

extension RelayStamp {
    /// Creates the stamp of a text message, with the publisher's name from a cache of recent names; nil if the name
    /// violates the rules of ``WireName``, or the message has no stamp.
    package init?(_ message: TextMessage, _ names: inout AccountNames) {
        guard message.isDelivery, let sender = names.name(message.sender) else { return nil }
        self.init(offset: message.offset, acceptedAt: message.acceptedAt, sender: sender, device: message.device)
    }

    /// Creates the stamp of a view; nil if it has none.
    fileprivate init?(_ view: borrowing MessageView, _ names: inout AccountNames) {
        guard let offset = view.offset, let acceptedAt = view.acceptedAt, let device = view.device,
            let bytes = view.sender, let sender = names.name(bytes)
        else { return nil }
        self.init(offset: offset, acceptedAt: acceptedAt, sender: sender, device: device)
    }
}
