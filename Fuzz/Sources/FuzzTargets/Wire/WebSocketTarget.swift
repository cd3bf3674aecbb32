import MartletWire

@testable import MartletTransport
@testable import MartletWebSocket

/// The frames and the upgrades of WebSockets: nothing traps, any split gives the same events and the same error, and
/// frames mean what a second reader of RFC 6455 finds, which has the whole stream.
///
/// Input: a byte for the part (its last two bits) and the length of the pieces, and the bytes of the peer.
enum WebSocketTarget {
    static func run(_ input: RawSpan) {
        guard input.byteCount > 1 else { return }
        let options = input.loadUInt8(at: 0)
        let size = Int(options >> 2) + 1
        let bytes = [UInt8](copying: input.extracting(droppingFirst: 1))
        switch options & 3 {
        case 0, 1:
            let isOfClient = options & 1 == 1
            let whole = frames(bytes, isOfClient, pieces: bytes.count)
            hold(whole == frames(bytes, isOfClient, pieces: size), "a split stream gives other frames")
            hold(whole == Reference.read(bytes, isOfClient), "frames have another meaning")
        case 2:
            for files in folders {
                let whole = request(bytes, pieces: bytes.count, files)
                hold(whole == request(bytes, pieces: size, files), "a split request gives another answer")
            }
        default:
            let whole = answer(bytes, pieces: bytes.count)
            hold(whole == answer(bytes, pieces: size), "a split answer gives another outcome")
        }
    }

    /// Files for requests, and none. Requests of a run end before the next one.
    private static let folders = [nil, WebFolder(WebFiles(["index.html": [1], "a/b.txt": [2]]))]
    private static let forwarders = IPNetwork("10.0.0.0/8").map { [$0] } ?? []
    private static let peer = SocketAddress("10.0.0.1:80")

    /// What a stream of frames contains.
    struct Frames: Equatable {
        var data: [UInt8] = []
        var pings: [[UInt8]] = []
        var isClosed = false
        var closeCode: UInt16?
        var error: WebSocketError?
    }

    private static func frames(_ bytes: [UInt8], _ isOfClient: Bool, pieces size: Int) -> Frames {
        var reader = WebSocketReader(ofClient: isOfClient)
        var found = Frames()
        for start in stride(from: 0, to: bytes.count, by: size) {
            let piece = Array(bytes[start..<min(start + size, bytes.count)])
            var offset = 0
            do throws(WebSocketError) {
                while let event = try reader.next(in: piece.rawBytes, at: &offset) {
                    switch event {
                    case .data(let range, let key):
                        found.data += [UInt8](capacity: range.count) { output in
                            output.append(bytes: piece.rawBytes.extracting(range))
                            output.mask(from: 0, key: key)
                        }
                    case .ping(let payload):
                        hold(payload.count <= WebSocketReader.maxControlByteCount, "a long ping")
                        found.pings.append(payload)
                    case .close(let code): (found.isClosed, found.closeCode) = (true, code?.rawValue)
                    }
                }
            } catch {
                found.error = error
                return found
            }
        }
        return found
    }

    /// The result of a request: the response with a file, the status, or the bytes behind it.
    private struct Request: Equatable {
        var response: [UInt8]?
        var status: UInt16?
        var rest: [UInt8]?
        var client: SocketAddress?
    }

    private static func request(_ bytes: [UInt8], pieces size: Int, _ files: WebFolder?) -> Request {
        var options = WebSocketOptions()
        options.files = files
        options.forwarders = forwarders
        var upgrade = WebSocketServerUpgrade(options, isSecure: false)
        for start in stride(from: 0, to: bytes.count, by: size) {
            let end = min(start + size, bytes.count)
            let piece = Array(bytes[start..<end])
            switch upgrade.receive(piece.rawBytes, from: peer) {
            case .incomplete: continue
            case .answered(let response, _):
                hold(files != nil && response.starts(with: "HTTP/1.1 ".utf8), "a response that is none")
                return Request(response: response, client: upgrade.client)
            case .accepted(_, let rest): return Request(rest: rest + bytes[end...], client: upgrade.client)
            case .refused(.refused(let status), let answer):
                hold(answer.starts(with: "HTTP/1.1 \(status) ".utf8), "an answer with another status")
                return Request(status: status, client: upgrade.client)
            case .refused: hold(false, "a refusal without a status")
            }
        }
        return Request()
    }

    /// The outcome of an answer: an error, or the offset behind it.
    private struct Outcome: Equatable {
        var error: WebSocketError?
        var end: Int?
    }

    private static func answer(_ bytes: [UInt8], pieces size: Int) -> Outcome {
        guard let endpoint = try? Endpoint(host: "a", webSocketPath: "/martlet") else { return Outcome() }
        var upgrade = WebSocketClientUpgrade(to: endpoint, nonce: Array("the sample nonce".utf8))
        for start in stride(from: 0, to: bytes.count, by: size) {
            let piece = Array(bytes[start..<min(start + size, bytes.count)])
            switch upgrade.receive(piece.rawBytes) {
            case .incomplete: continue
            case .failed(let error): return Outcome(error: error)
            case .accepted(let byteCount): return Outcome(end: start + byteCount)
            }
        }
        return Outcome()
    }

    /// A reader of a whole stream, written beside RFC 6455 §5 without regard to speed.
    private enum Reference {
        static func read(_ stream: [UInt8], _ isOfClient: Bool) -> Frames {
            var found = Frames()
            var isInMessage = false
            var rest = stream[...]
            while let first = rest.popFirst() {
                let (isFinal, opcode) = (first >> 7 == 1, first & 15)
                if first & 0b0111_0000 != 0 { return failed(found, .reservedBits) }
                switch opcode {
                case 0 where !isInMessage, 1 where isInMessage, 2 where isInMessage:
                    return failed(found, .invalidFragment)
                case 1: return failed(found, .textMessage)
                case 0, 2: isInMessage = !isFinal
                case 8, 9, 10: if !isFinal { return failed(found, .invalidControlFrame) }
                default: return failed(found, .unknownOpcode)
                }
                guard let second = rest.popFirst() else { return found }
                if (second >> 7 == 1) != isOfClient { return failed(found, .invalidMask) }
                var length = UInt64(second & 127)
                if opcode >= 8, length > 125 { return failed(found, .invalidControlFrame) }
                if length > 125 {
                    let count = length == 126 ? 2 : 8
                    if count == 8, let high = rest.first, high > 127 { return failed(found, .invalidLength) }
                    guard rest.count >= count else { return found }
                    length = rest.prefix(count).reduce(0) { $0 * 256 + UInt64($1) }
                    rest = rest.dropFirst(count)
                    if length < (count == 2 ? 126 : 65_536) { return failed(found, .invalidLength) }
                }
                var mask: [UInt8] = [0, 0, 0, 0]
                if isOfClient {
                    guard rest.count >= 4 else { return found }
                    mask = Array(rest.prefix(4))
                    rest = rest.dropFirst(4)
                }
                let payload = rest.prefix(Int(min(length, UInt64(rest.count)))).enumerated().map { $1 ^ mask[$0 % 4] }
                rest = rest.dropFirst(payload.count)
                if opcode < 8 { found.data += payload }
                guard payload.count == length else { return found }
                if opcode == 9 { found.pings.append(payload) }
                guard opcode == 8 else { continue }
                if payload.count == 1 { return failed(found, .invalidClose) }
                if payload.count > 1 {
                    let code = UInt16(payload[0]) * 256 + UInt16(payload[1])
                    let isSent = 1000...1014 ~= code && !(1004...1006 ~= code) || 3000...4999 ~= code
                    if !isSent { return failed(found, .invalidClose) }
                    guard String(validating: payload[2...], as: UTF8.self) != nil else {
                        return failed(found, .invalidCloseReason)
                    }
                    found.closeCode = code
                }
                found.isClosed = true
                return found
            }
            return found
        }

        private static func failed(_ found: Frames, _ error: WebSocketError) -> Frames {
            var found = found
            found.error = error
            return found
        }
    }
}
