import MartletHTTP
import MartletTransport
import MartletWire

/// The client's side of CONNECT (RFC 9110 §9.3.6), with one answer to a challenge (C-128, Specs/hostile.md row 125).
///
/// | state | owns | ends |
/// |---|---|---|
/// | answer | the bytes of the answer so far, at most `maxHeadByteCount` | its empty line, a fault, the timeout of the attempt |
/// | content | the number of bytes of the content of a challenge that are discarded, at most `maxContentByteCount` | the last of them, a fault, the timeout of the attempt |
struct HTTPConnectHandshake: Sendable {
    /// The maximum number of bytes of an answer, interim ones included.
    static let maxHeadByteCount = HTTPRequestParser.maxHeadByteCount  // bound
    /// The maximum number of bytes of the content of a challenge. Behind a longer one a further connection is made.
    static let maxContentByteCount = 64 << 10
    /// The maximum number of answers to challenges: one, and one after a nonce that was too old.
    static let maxAnswerCount = 2  // bound
    /// The maximum number of bytes of a reason, or of the names of schemes, in an error.
    static let maxReasonByteCount = 64

    private let target: String
    private let credentials: ProxyCredentials?
    private let nonce: [UInt8]
    /// The value of Proxy-Authorization of the next request.
    private var authorization: [UInt8]?
    private var answerCount = 0
    /// Whether texts of the proxy are in no error: it has the credentials, and may repeat them (C-126).
    private var hidesTexts: Bool { answerCount > 0 }
    private var head: [UInt8] = []
    /// The number of bytes of the head before the current answer.
    private var interimByteCount = 0
    /// The number of bytes of the content that are to be discarded; nil in the state answer.
    private var contentByteCount: Int?

    /// - Parameter nonce: Sixteen random bytes.
    init(to endpoint: Endpoint, credentials: ProxyCredentials?, nonce: [UInt8]) {
        (target, self.credentials, self.nonce) = (endpoint.hostAndPort, credentials, nonce)
    }

    /// Begins on a connection. Returns the request.
    mutating func start() -> [UInt8] {
        (head, interimByteCount, contentByteCount) = ([], 0, nil)
        return request
    }

    private var request: [UInt8] {
        var bytes = Array("CONNECT \(target) HTTP/1.1\r\nHost: \(target)\r\n".utf8)
        if let authorization {
            bytes += "Proxy-Authorization: ".utf8
            bytes += authorization
            bytes += "\r\n".utf8
        }
        bytes += "\r\n".utf8
        return bytes
    }

    /// Takes received bytes, up to the end of the answer.
    mutating func receive(_ bytes: RawSpan) -> ProxyHandshake.Step {
        var index = 0
        while index < bytes.byteCount {
            if let count = contentByteCount {
                let taken = min(count, bytes.byteCount - index)
                index += taken
                contentByteCount = count - taken
                guard taken == count else { return .incomplete }
                // The proxy speaks only when it is asked.
                return index < bytes.byteCount ? .failed(.invalidResponse) : .send(start())
            }
            head.append(bytes.loadUInt8(at: index))
            index += 1
            guard head.count <= Self.maxHeadByteCount else { return .failed(.invalidResponse) }
            guard head.last == UInt8(ascii: "\n"), head.count >= interimByteCount + 4,
                head.suffix(4).elementsEqual("\r\n\r\n".utf8)
            else { continue }
            let step = answered(head[interimByteCount...].dropLast(2))
            switch step {
            case .connected: return .connected(byteCount: index)
            case .send where index < bytes.byteCount: return .failed(.invalidResponse)
            case .incomplete: continue
            default: return step
            }
        }
        return .incomplete
    }

    /// The proxy has ended the connection.
    func ended() -> ProxyHandshake.Step { contentByteCount == nil ? .failed(.closed) : .reconnect }

    private mutating func answered(_ bytes: ArraySlice<UInt8>) -> ProxyHandshake.Step {
        guard let answer = try? HTTPResponseHead(parsing: bytes) else { return .failed(.invalidResponse) }
        switch answer.status {
        case 101: return .failed(.invalidResponse)
        case 100..<200:
            interimByteCount = head.count
            return .incomplete
        case 200..<300: return .connected(byteCount: 0)
        case 407: return challenged(answer)
        case 300..<400, 511:
            let host = answer.fields[joined: "location"].flatMap { hidesTexts ? nil : Self.host(ofURL: $0) }
            return .failed(.redirected(status: answer.status, host: host))
        default:
            let text = hidesTexts ? [] : answer.reason.filter { (0x20..<0x7F).contains($0) }
            let reason = text.prefix(Self.maxReasonByteCount)
            return .failed(.refused(status: answer.status, reason: String(decoding: reason, as: UTF8.self)))
        }
    }

    private mutating func challenged(_ answer: HTTPResponseHead) -> ProxyHandshake.Step {
        let challenges = ProxyChallenge.list(answer.fields[joined: "proxy-authenticate"] ?? "")
        let supported = challenges.filter { $0.strength != nil }
        guard let best = supported.max(by: { ($0.strength ?? 0) < ($1.strength ?? 0) }) else {
            return .failed(
                hidesTexts
                    ? .authenticationFailed
                    : challenges.isEmpty ? .authenticationRequired : Self.unsupported(challenges))
        }
        guard let credentials else { return .failed(.authenticationRequired) }
        guard answerCount == 0 || answerCount < Self.maxAnswerCount && best.isStale else {
            return .failed(.authenticationFailed)
        }
        answerCount += 1
        authorization = best.answer(credentials, target: target, nonce: nonce)
        guard authorization != nil else { return .failed(Self.unsupported([best])) }
        guard let count = Self.contentByteCount(of: answer) else { return .reconnect }
        if count == 0 { return .send(start()) }
        contentByteCount = count
        return .incomplete
    }

    private static func unsupported(_ challenges: [ProxyChallenge]) -> ProxyError {
        let schemes = challenges.map(\.scheme).joined(separator: ", ").utf8.prefix(maxReasonByteCount)
        return .unsupportedAuthentication(schemes: String(decoding: schemes, as: UTF8.self))
    }

    /// The length of the content behind which the connection can be used again; nil if it ends, or the content is long
    /// or has no length that is known in advance.
    private static func contentByteCount(of answer: HTTPResponseHead) -> Int? {
        let fields = answer.fields
        let closes = ["connection", "proxy-connection"].contains { fields.list($0, contains: "close") }
        let keeps = ["connection", "proxy-connection"].contains { fields.list($0, contains: "keep-alive") }
        guard !closes, answer.minorVersion == 1 || keeps, fields[joined: "transfer-encoding"] == nil,
            let text = fields[joined: "content-length"], let count = Int(text),
            (0...maxContentByteCount).contains(count),
            !text.hasPrefix("+")
        else { return nil }
        return count
    }

    /// The host of an absolute URL; nil for others, and for a host that is neither a name nor an address.
    static func host(ofURL text: String) -> String? {
        guard let parts = Endpoint.parts(ofURL: text) else { return nil }
        var authority = parts.rest.prefix { !"/?#\\".contains($0) }
        if let at = authority.lastIndex(of: "@") { authority = authority[authority.index(after: at)...] }
        return (try? Endpoint(parsing: String(authority)))?.host
    }
}
