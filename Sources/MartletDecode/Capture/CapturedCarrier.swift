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
    enum Failure: Equatable {
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
    private static let olderAnswer = Array("HTTP/1.0 ".utf8)
    private static let emptyLine: UInt32 = 0x0D0A_0D0A
    private static let handshakeOfTLS: [UInt8] = [0x16, 0x03]

    private var state = State.detecting([])

    /// Whether the bytes so far end in the beginning of a head of HTTP or TLS, or inside a head.
    var isInHead: Bool {
        switch state {
        case .detecting(let bytes): !bytes.isEmpty
        case .head: true
        case .messages, .plain: false
        }
    }

    /// Returns the bytes of frames of Martlet among the next bytes of the direction, from the first one on, and the
    /// reason why none follow them. After a failure no further bytes are read.
    mutating func read(_ bytes: [UInt8]) -> (frames: [UInt8], failure: Failure?) {
        switch state {
        case .plain: return (bytes, nil)
        case .detecting(let earlier): return detect(earlier + bytes)
        case .head(var last, let ofClient):
            for (index, byte) in bytes.enumerated() {
                last = last << 8 | UInt32(byte)
                guard last == Self.emptyLine else { continue }
                state = .messages(WebSocketReader(ofClient: ofClient))
                return read(Array(bytes[(index + 1)...]))
            }
            state = .head(last: last, ofClient: ofClient)
            return ([], nil)
        case .messages(var reader):
            let result = Self.payload(bytes.rawBytes, &reader)
            state = .messages(reader)
            return result
        }
    }

    private mutating func detect(_ bytes: [UInt8]) -> (frames: [UInt8], failure: Failure?) {
        // No frame begins with a letter or the first byte of TLS (W-5).
        for begin in [Self.request, Self.answer, Self.olderAnswer, Self.handshakeOfTLS]
        where begin.starts(with: bytes.prefix(begin.count)) {
            let isAnswer = begin == Self.answer || begin == Self.olderAnswer
            guard bytes.count >= begin.count + (isAnswer ? 3 : 0) else {
                state = .detecting(bytes)
                return ([], nil)
            }
            if begin == Self.handshakeOfTLS { return ([], .encrypted) }
            let status = bytes[begin.count...].prefix(3)
            if isAnswer, !status.allSatisfy((UInt8(ascii: "0")...UInt8(ascii: "9")).contains) { break }
            if isAnswer, begin == Self.olderAnswer || !status.elementsEqual("101".utf8) {
                return ([], .answer(status: String(decoding: status, as: UTF8.self)))
            }
            state = .head(last: 0, ofClient: !isAnswer)
            return read(bytes)
        }
        state = .plain
        return (bytes, nil)
    }

    private static func payload(
        _ bytes: RawSpan, _ reader: inout WebSocketReader
    ) -> (frames: [UInt8], failure: Failure?) {
        var payload: [UInt8] = []
        var offset = 0
        do throws(WebSocketError) {
            while let event = try reader.next(in: bytes, at: &offset) {
                guard case .data(let range, let key) = event else { continue }
                payload += [UInt8](capacity: range.count) { output in
                    output.append(bytes: bytes.extracting(range))
                    output.mask(from: 0, key: key)
                }
            }
            return (payload, nil)
        } catch {
            return (payload, .webSocket(error))
        }
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
