extension Message {
    /// The body of a client's text message, written in one go into an array of its size: what `encodeClient` makes of
    /// ``textContent(_:)``.
    ///
    /// - Precondition: counters start at 1; the text is not empty.
    public static func encodeText(_ text: String, counter: UInt64, timeToLive: Duration? = nil) -> [UInt8] {
        encode(text, counter, timeToLive, stampByteCount: 0) { _ in }
    }

    /// The same with the relay's stamp in front.
    ///
    /// - Precondition: counters start at 1; the text is not empty.
    public static func encodeText(
        _ text: String, counter: UInt64, timeToLive: Duration? = nil, relay: RelayStamp
    ) -> [UInt8] {
        let sender = relay.sender.text
        let senderByteCount = sender.utf8.count
        let stampByteCount = 4 * TLVLimits.headByteCount + 3 * 8 + senderByteCount
        return encode(text, counter, timeToLive, stampByteCount: stampByteCount) { output in
            output.append(.offset, relay.offset)
            output.append(.acceptedAt, relay.acceptedAt)
            output.append(.device, relay.device.rawValue)
            output.append(.sender, byteCount: senderByteCount)
            output.append(utf8: sender)
        }
    }

    @inline(__always)
    private static func encode(
        _ text: String, _ counter: UInt64, _ timeToLive: Duration?, stampByteCount: Int,
        _ appendStamp: (inout OutputRawSpan) -> Void
    ) -> [UInt8] {
        precondition(counter >= 1, "counters start at 1")
        precondition(!text.isEmpty, "a text message has a text")
        let head = TLVLimits.headByteCount
        let textByteCount = text.utf8.count
        let timeByteCount = timeToLive == nil ? 0 : head + 4
        let byteCount = stampByteCount + 4 * head + 8 + 2 + timeByteCount + textByteCount
        return [UInt8](byteCount: byteCount) { output in
            appendStamp(&output)
            output.append(.counter, counter)
            output.append(.kind, ContentKind.text.rawValue)
            if let timeToLive { output.append(.timeToLive, timeToLive.wireCount(.milliseconds)) }
            output.append(.content, byteCount: head + textByteCount)
            output.append(.text, byteCount: textByteCount)
            output.append(utf8: text)
        }
    }
}

extension OutputRawSpan {
    @inline(__always)
    @_lifetime(self: copy self)
    fileprivate mutating func append(_ tag: Tag, byteCount: Int) {
        append(bigEndian: tag.rawValue)
        append(bigEndian: UInt32(byteCount))
    }

    @inline(__always)
    @_lifetime(self: copy self)
    fileprivate mutating func append(_ tag: Tag, _ value: some FixedWidthInteger & BitwiseCopyable) {
        append(tag, byteCount: value.bitWidth / 8)
        append(bigEndian: value)
    }

    @inline(__always)
    @_lifetime(self: copy self)
    fileprivate mutating func append(utf8 text: String) {
        let isAppended: Void? = unsafe text.utf8.withContiguousStorageIfAvailable { utf8 in
            unsafe append(bytes: utf8.span.bytes)
        }
        if isAppended == nil { append(foreign: text) }
    }

    /// Only strings from Objective-C have no storage to look at.
    @inline(never)
    @_lifetime(self: copy self)
    private mutating func append(foreign text: String) {
        for byte in text.utf8 { append(byte) }
    }
}
