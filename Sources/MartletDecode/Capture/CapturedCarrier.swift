internal import MartletTransport
internal import MartletWebSocket
internal import MartletWire

/// The carrier of one direction of a connection: TCP alone, or a WebSocket, whose messages have the frames of Martlet
/// (Specs/connection.md C-117, C-120).
///
/// | state | owns | ends |
/// |---|---|---|
/// | detecting | the first bytes, at most 12 | a byte that begins no head, or the last byte of its beginning |
/// | head | the last four bytes of the head | its empty line |
/// | messages | the reader of the frames of the WebSocket | |
/// | plain | nothing | |
struct CapturedCarrier {
    /// The reason why a direction cannot be read.
    enum Failure: Error, Equatable {
        /// The connection has TLS.
        case encrypted
        /// An answer of HTTP with this status, which begins no WebSocket.
        case answer(status: String)
        /// The frames of the WebSocket are not valid.
        case webSocket(WebSocketError)
    }

    private enum State {
        case detecting([UInt8])
        case head(last: UInt32, ofClient: Bool)
        case messages(WebSocketReader)
        case plain
    }

    private static let request = Array("GET ".utf8)
    private static let answer = Array("HTTP/1.1 ".utf8)
    private static let emptyLine: UInt32 = 0x0D0A_0D0A
    private static let handshakeOfTLS: [UInt8] = [0x16, 0x03]

    private var state = State.detecting([])

    /// Returns the bytes of frames of Martlet among the next bytes of the direction, from the first one on.
    mutating func read(_ bytes: [UInt8]) throws(Failure) -> [UInt8] {
        switch state {
        case .plain: return bytes
        case .detecting(let earlier): return try detect(earlier + bytes)
        case .head(var last, let ofClient):
            for (index, byte) in bytes.enumerated() {
                last = last << 8 | UInt32(byte)
                guard last == Self.emptyLine else { continue }
                state = .messages(WebSocketReader(ofClient: ofClient))
                return try read(Array(bytes[(index + 1)...]))
            }
            state = .head(last: last, ofClient: ofClient)
            return []
        case .messages(var reader):
            do throws(WebSocketError) {
                let payload = try Self.payload(bytes.rawBytes, &reader)
                state = .messages(reader)
                return payload
            } catch {
                throw .webSocket(error)
            }
        }
    }

    private mutating func detect(_ bytes: [UInt8]) throws(Failure) -> [UInt8] {
        if bytes.starts(with: Self.handshakeOfTLS) { throw .encrypted }
        // No frame begins with a letter (W-5).
        for begin in [Self.request, Self.answer] where begin.starts(with: bytes.prefix(begin.count)) {
            let isAnswer = begin == Self.answer
            guard bytes.count >= begin.count + (isAnswer ? 3 : 0) else {
                state = .detecting(bytes)
                return []
            }
            let status = String(decoding: bytes[begin.count...].prefix(3), as: UTF8.self)
            guard !isAnswer || status == "101" else { throw .answer(status: status) }
            state = .head(last: 0, ofClient: !isAnswer)
            return try read(bytes)
        }
        state = .plain
        return bytes
    }

    private static func payload(_ bytes: RawSpan, _ reader: inout WebSocketReader) throws(WebSocketError) -> [UInt8] {
        var payload: [UInt8] = []
        var offset = 0
        while let event = try reader.next(in: bytes, at: &offset) {
            guard case .data(let range, let key) = event else { continue }
            payload += [UInt8](capacity: range.count) { output in
                output.append(bytes: bytes.extracting(range))
                output.mask(from: 0, key: key)
            }
        }
        return payload
    }
}

extension CapturedCarrier.Failure: CustomStringConvertible {
    /// A description in one line, for people.
    var description: String {
        switch self {
        case .encrypted: "the connection has TLS: its bytes cannot be read"
        case .answer(let status): "an answer of HTTP with the status \(status), and no WebSocket"
        case .webSocket(let error): "\(error)"
        }
    }
}
