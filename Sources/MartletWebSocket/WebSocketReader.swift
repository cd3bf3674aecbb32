package import MartletTransport
import MartletWire

/// The frames that a peer of a WebSocket sends (RFC 6455 §5), from the bytes behind the upgrade.
///
/// | state | owns | ends |
/// |---|---|---|
/// | header | the values of the bytes so far | its last byte |
/// | payload | the length that remains; the bytes of a control frame | its last byte |
/// | closed | nothing; further bytes are ignored | |
///
/// A reader holds no payload of a message. A frame may have any length, and a message any number of frames, because
/// only the bytes of all messages together have a meaning (C-120, Specs/hostile.md row 112).
package struct WebSocketReader: Sendable {
    /// The maximum number of bytes of the payload of a control frame.
    package static let maxControlByteCount = 125

    /// What a part of the input contains.
    package enum Event: Sendable, Equatable {
        /// Bytes of messages: a range of the input, and the key that unmasks it; 0 without a mask.
        case data(Range<Int>, key: UInt32)
        /// A ping with its payload.
        case ping([UInt8])
        /// The close frame, with its code if it has one. Nothing follows.
        case close(WebSocketCloseCode?)
    }

    /// The meaning of a frame.
    enum Opcode: UInt8 {
        case continuation = 0
        case text = 1
        case binary = 2
        case close = 8
        case ping = 9
        case pong = 10

        var isControl: Bool { rawValue >= 8 }
    }

    private let expectsMask: Bool
    private var isClosed = false
    /// Whether the last data frame was not the last of its message.
    private var isInMessage = false
    private var opcode = Opcode.continuation
    /// The number of bytes of the header so far, and of all that are known to belong to it.
    private var headerCount: UInt8 = 0
    private var headerByteCount: UInt8 = 2
    private var lengthByteCount: UInt8 = 0
    /// The mask, rotated so that its first byte belongs to the next one of the payload.
    private var key: UInt32 = 0
    /// The bytes of the payload that have not arrived.
    private var remaining: UInt64 = 0
    /// The payload of a control frame, unmasked.
    private var control: [UInt8] = []

    /// A reader of the frames of a client, which are masked, or of a server.
    package init(ofClient: Bool) { expectsMask = ofClient }

    /// Whether the peer sends no more.
    package var hasEnded: Bool { isClosed }

    /// Returns the next event, and moves the offset behind its bytes; nil at the end of the input.
    ///
    /// After an error the reader ignores all bytes.
    package mutating func next(in input: RawSpan, at offset: inout Int) throws(WebSocketError) -> Event? {
        do throws(WebSocketError) {
            while !isClosed {
                while headerCount < headerByteCount {
                    guard offset < input.byteCount else { return nil }
                    try takeHeader(input.loadUInt8(at: offset))
                    offset += 1
                }
                let count = Int(min(remaining, UInt64(input.byteCount - offset)))
                guard count > 0 || remaining == 0 else { return nil }
                let event = opcode.isControl ? takeControl(input, offset, count) : takeData(offset, count)
                offset += count
                remaining -= UInt64(count)
                guard remaining == 0 else { return event }
                let isControl = opcode.isControl
                (headerCount, headerByteCount, key) = (0, 2, 0)
                if let event = isControl ? try controlEvent() : event { return event }
            }
        } catch {
            isClosed = true
            throw error
        }
        offset = input.byteCount
        return nil
    }

    private mutating func takeHeader(_ byte: UInt8) throws(WebSocketError) {
        defer { headerCount += 1 }
        switch headerCount {
        case 0: try takeOpcode(byte)
        case 1:
            guard (byte & 0x80 != 0) == expectsMask else { throw .invalidMask }
            let length = byte & 0x7F
            guard length <= 125 || !opcode.isControl else { throw .invalidControlFrame }
            lengthByteCount = length == 126 ? 2 : length == 127 ? 8 : 0
            headerByteCount = 2 + lengthByteCount + (expectsMask ? 4 : 0)
            remaining = lengthByteCount == 0 ? UInt64(length) : 0
        case 2..<2 + lengthByteCount:
            if headerCount == 2, lengthByteCount == 8, byte & 0x80 != 0 { throw .invalidLength }
            remaining = remaining << 8 | UInt64(byte)
            guard headerCount == 1 + lengthByteCount else { return }
            guard remaining > (lengthByteCount == 2 ? 125 : 0xFFFF) else { throw .invalidLength }
        default: key = key << 8 | UInt32(byte)
        }
    }

    private mutating func takeOpcode(_ byte: UInt8) throws(WebSocketError) {
        guard byte & 0x70 == 0 else { throw .reservedBits }
        guard let opcode = Opcode(rawValue: byte & 0x0F) else { throw .unknownOpcode }
        let isFinal = byte & 0x80 != 0
        switch opcode {
        case .continuation, .text, .binary:
            guard (opcode == .continuation) == isInMessage else { throw .invalidFragment }
            guard opcode != .text else { throw .textMessage }
            isInMessage = !isFinal
        case .close, .ping, .pong: guard isFinal else { throw .invalidControlFrame }
        }
        self.opcode = opcode
    }

    private mutating func takeData(_ offset: Int, _ count: Int) -> Event? {
        guard count > 0 else { return nil }
        let key = key
        self.key = key.rotated(by: count)
        return .data(offset..<offset + count, key: key)
    }

    private mutating func takeControl(_ input: RawSpan, _ offset: Int, _ count: Int) -> Event? {
        for index in 0..<count {
            control.append(input.loadUInt8(at: offset + index) ^ UInt8(truncatingIfNeeded: key >> 24))
            key = key.rotated(by: 1)
        }
        return nil
    }

    /// Returns the event of the complete control frame.
    private mutating func controlEvent() throws(WebSocketError) -> Event? {
        let payload = control
        control = []
        switch opcode {
        case .ping: return .ping(payload)
        case .close:
            let code = try WebSocketCloseCode(parsing: payload)
            isClosed = true
            return .close(code)
        case .pong, .continuation, .text, .binary: return nil
        }
    }
}

/// The code of a close frame (RFC 6455 §7.4).
package struct WebSocketCloseCode: RawRepresentable, Sendable, Hashable {
    package let rawValue: UInt16

    package static let normal = WebSocketCloseCode(rawValue: 1000)
    package static let goingAway = WebSocketCloseCode(rawValue: 1001)
    package static let protocolError = WebSocketCloseCode(rawValue: 1002)
    package static let unsupportedData = WebSocketCloseCode(rawValue: 1003)
    package static let invalidText = WebSocketCloseCode(rawValue: 1007)

    package init(rawValue: UInt16) { self.rawValue = rawValue }

    /// The code by which a violation by the peer is answered.
    package init(_ error: WebSocketError) {
        switch error {
        case .textMessage: self = .unsupportedData
        case .invalidCloseReason: self = .invalidText
        default: self = .protocolError
        }
    }

    /// Parses the payload of a close frame; nil without a code.
    init?(parsing payload: [UInt8]) throws(WebSocketError) {
        guard !payload.isEmpty else { return nil }
        guard payload.count >= 2 else { throw .invalidClose }
        rawValue = payload.rawBytes.loadUInt16(at: 0)
        switch rawValue {
        // 1004 to 1006 and 1015 are never sent; 1012 to 1014 are registered with IANA.
        case 1000...1003, 1007...1014, 3000...4999: break
        default: throw .invalidClose
        }
        guard payload.rawBytes.extracting(2...).isValidUTF8 else { throw .invalidCloseReason }
    }
}

extension UInt32 {
    /// The mask for the bytes behind `count` bytes of a payload.
    fileprivate func rotated(by count: Int) -> UInt32 {
        let bits = UInt32(8 * (count & 3))
        return self << bits | self >> ((32 - bits) & 31)
    }
}

extension OutputRawSpan {
    /// Applies a mask to the bytes from an offset to the end (RFC 6455 §5.3).
    @_lifetime(self: copy self)
    package mutating func mask(from offset: Int, key: UInt32) {
        guard key != 0 else { return }
        let pattern = (UInt64(key) << 32 | UInt64(key)).bigEndian
        unsafe withUnsafeMutableBytes { buffer, count in
            let bytes = unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[offset..<count])
            var index = 0
            while index + 8 <= bytes.count {
                let word = unsafe bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self)
                unsafe bytes.storeBytes(of: word ^ pattern, toByteOffset: index, as: UInt64.self)
                index += 8
            }
            while index < bytes.count {
                unsafe bytes[index] ^= UInt8(truncatingIfNeeded: key >> UInt32(24 - 8 * (index & 3)))
                index += 1
            }
        }
    }
}
