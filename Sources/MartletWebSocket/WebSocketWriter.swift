import MartletWire

/// The frames that one side of a WebSocket sends (RFC 6455 §5).
///
/// The payload of a data frame is written behind room for its header, which `seal` fills. A data frame is a whole
/// message.
package enum WebSocketWriter {
    /// The maximum number of bytes of the payload of one data frame.
    package static let maxPayloadByteCount = 65_535

    private static let finalBit: UInt8 = 0x80
    private static let maskBit: UInt8 = 0x80
    private static let roomWithoutMask = 4

    /// The number of bytes that `reserve` appends.
    package static func roomByteCount(isMasked: Bool) -> Int { roomWithoutMask + (isMasked ? 4 : 0) }

    /// Appends room for the header of a data frame.
    package static func reserve(in buffer: inout OutputRawSpan, isMasked: Bool) {
        unsafe buffer.append(repeating: 0, count: roomByteCount(isMasked: isMasked), as: UInt8.self)
    }

    /// Writes the header of the data frame whose room begins at `start`, and masks its payload. Without a payload the
    /// room is removed. Returns whether there is a frame.
    package static func seal(_ buffer: inout OutputRawSpan, from start: Int, key: UInt32?) -> Bool {
        let room = roomByteCount(isMasked: key != nil)
        let count = buffer.byteCount - start - room
        precondition(count <= maxPayloadByteCount, "a payload is longer than a write buffer")
        guard count > 0 else {
            buffer.removeLast(room)
            return false
        }
        if let key { buffer.mask(from: start + room, key: key) }
        // A short length has no bytes of its own.
        let isShort = count <= WebSocketReader.maxControlByteCount
        if isShort { buffer.moveTail(from: start + room, by: -2) }
        let mask = key == nil ? 0 : maskBit
        buffer.store(bigEndian: finalBit | WebSocketReader.Opcode.binary.rawValue, at: start)
        buffer.store(bigEndian: mask | (isShort ? UInt8(count) : 126), at: start + 1)
        if !isShort { buffer.store(bigEndian: UInt16(count), at: start + 2) }
        if let key { buffer.store(bigEndian: key, at: start + (isShort ? 2 : 4)) }
        return true
    }

    /// The bytes of a pong.
    package static func pong(_ payload: [UInt8], key: UInt32?) -> [UInt8] { control(.pong, payload, key) }

    /// The bytes of a close frame.
    package static func close(_ code: WebSocketCloseCode, key: UInt32?) -> [UInt8] {
        control(.close, [UInt8(code.rawValue >> 8), UInt8(code.rawValue & 0xFF)], key)
    }

    private static func control(
        _ opcode: WebSocketReader.Opcode, _ payload: [UInt8], _ key: UInt32?
    ) -> [UInt8] {
        [UInt8](capacity: 6 + payload.count) { frame in
            frame.append(finalBit | opcode.rawValue)
            frame.append(UInt8(payload.count) | (key == nil ? 0 : maskBit))
            if let key { frame.append(bigEndian: key) }
            let start = frame.byteCount
            frame.append(bytes: payload.rawBytes)
            if let key { frame.mask(from: start, key: key) }
        }
    }
}
