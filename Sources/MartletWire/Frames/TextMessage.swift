/// A message of one text as its values, without the TLVs around them: what the compact forms text and delivery say
/// (W-86).
public struct TextMessage: ~Escapable, BitwiseCopyable {
    /// The sender's number for the message.
    public let counter: UInt64
    /// The text's UTF-8.
    public let text: RawSpan
    /// From the relay: the message's place in the room; 0 on the way from a client.
    public let offset: UInt64
    /// From the relay: when it took the message, in milliseconds since 1970 by its clock.
    public let acceptedAt: UInt64
    /// From the relay: the sender's device.
    public let device: DeviceID
    /// From the relay: the sender's account as UTF-8, which is not checked.
    public let sender: RawSpan

    /// A client's message.
    @_lifetime(copy text)
    init(counter: UInt64, text: RawSpan) {
        self.counter = counter
        self.text = text
        offset = 0
        acceptedAt = 0
        device = DeviceID(rawValue: 0)
        sender = RawSpan()
    }

    /// A message from the relay.
    @_lifetime(copy text, copy sender)
    init(offset: UInt64, acceptedAt: UInt64, device: DeviceID, sender: RawSpan, counter: UInt64, text: RawSpan) {
        self.counter = counter
        self.text = text
        self.offset = offset
        self.acceptedAt = acceptedAt
        self.device = device
        self.sender = sender
    }

    /// The values of a body whose layout is that of a message.
    @_lifetime(copy body)
    init(laidOut body: RawSpan, isDelivery: Bool) {
        guard isDelivery else {
            self.init(
                counter: body.loadUInt64(at: TLVLimits.headByteCount),
                text: body.extracting(droppingFirst: Self.clientByteCount))
            return
        }
        let end = Self.stampByteCount + Int(body.loadUInt32(at: Self.stampByteCount - 4))
        self.init(
            offset: body.loadUInt64(at: 6), acceptedAt: body.loadUInt64(at: 20),
            device: DeviceID(rawValue: body.loadUInt64(at: 34)),
            sender: body.extracting(Self.stampByteCount..<end), counter: body.loadUInt64(at: end + 6),
            text: body.extracting(droppingFirst: end + Self.clientByteCount))
    }

    /// Whether it has the relay's fields.
    public var isDelivery: Bool { !sender.isEmpty }

    /// Whether a body with these values keeps the rules of ``MessageView``; the sender is not looked at.
    var isValid: Bool {
        counter >= 1 && !text.isEmpty && text.isValidUTF8 && (offset >= 1) == isDelivery
    }

    /// How many bytes the body takes that has these values.
    public var byteCount: Int {
        Self.clientByteCount + text.byteCount + (isDelivery ? Self.stampByteCount + sender.byteCount : 0)
    }

    /// Appends that body.
    public func encode(into writer: inout TLVWriter) {
        if isDelivery {
            writer.append(.offset, uint64: offset)
            writer.append(.acceptedAt, uint64: acceptedAt)
            writer.append(.device, uint64: device.rawValue)
            writer.append(.sender, bytes: sender)
        }
        writer.append(.counter, uint64: counter)
        writer.append(.kind, uint16: ContentKind.text.rawValue)
        writer.appendHead(.content, followedBy: TLVLimits.headByteCount + text.byteCount)
        writer.append(.text, bytes: text)
    }

    /// Bytes of offset, acceptedAt, device and the sender's head.
    static var stampByteCount: Int { 48 }
    /// Bytes of counter, kind, and the heads of content and text.
    static var clientByteCount: Int { 34 }
}
