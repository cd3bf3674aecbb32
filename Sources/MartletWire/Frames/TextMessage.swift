/// The values of a text message without its TLVs, as in the compact forms text and delivery (W-86).
@usableFromInline
package struct TextMessage: ~Escapable, BitwiseCopyable {
    /// The counter of the message.
    package let counter: UInt64
    /// The UTF-8 of the text.
    package let text: RawSpan
    /// The offset of the message in the room's log; 0 in a message of a client.
    package let offset: UInt64
    /// The time at which the relay accepted the message, in milliseconds since 1970 by the relay's clock; 0 in a
    /// message of a client.
    package let acceptedAt: UInt64
    /// The device of the publisher; 0 in a message of a client.
    package let device: DeviceID
    /// The UTF-8 of the publisher's account, which is not verified; empty in a message of a client.
    package let sender: RawSpan

    /// Creates a message of a client.
    @_lifetime(copy text)
    init(counter: UInt64, text: RawSpan) {
        self.counter = counter
        self.text = text
        offset = 0
        acceptedAt = 0
        device = DeviceID(rawValue: 0)
        sender = RawSpan()
    }

    /// Creates a message of a relay.
    @_lifetime(copy text, copy sender)
    init(offset: UInt64, acceptedAt: UInt64, device: DeviceID, sender: RawSpan, counter: UInt64, text: RawSpan) {
        self.counter = counter
        self.text = text
        self.offset = offset
        self.acceptedAt = acceptedAt
        self.device = device
        self.sender = sender
    }

    /// Creates a message from the values of a body whose layout is a text message.
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

    /// Whether the message contains the fields of the relay.
    package var isDelivery: Bool { !sender.isEmpty }

    /// Whether ``MessageView`` accepts a body with these values. The sender is not verified.
    var isValid: Bool {
        counter >= 1 && !text.isEmpty && text.isValidUTF8 && (offset >= 1) == isDelivery
    }

    /// The number of bytes of a body with these values.
    package var byteCount: Int {
        Self.clientByteCount + text.byteCount + (isDelivery ? Self.stampByteCount + sender.byteCount : 0)
    }

    /// Appends the body.
    package func encode(into writer: inout TLVWriter) {
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

    /// The number of bytes of offset, acceptedAt, device and the sender's head.
    static var stampByteCount: Int { 48 }
    /// The number of bytes of counter, kind, and the heads of content and text.
    static var clientByteCount: Int { 34 }
}
