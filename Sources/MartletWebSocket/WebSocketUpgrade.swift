import CMartletCrypto
import MartletAuthentication
import MartletHTTP
package import MartletTransport
import MartletWire

/// What both sides of an upgrade agree on (RFC 6455 §4).
enum WebSocketHandshake {
    /// The token of the subprotocol (C-119).
    static let subprotocol = "martlet"
    static let version = "13"
    /// The number of bytes of the nonce in the key of a request.
    static let nonceByteCount = 16
    private static let suffix = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"

    /// The value of `Sec-WebSocket-Accept` for the key of a request.
    static func acceptance(of key: String) -> String {
        let bytes = Array((key + suffix).utf8)
        var digest = [UInt8](repeating: 0, count: Int(martlet_sha1_byte_count))
        unsafe martlet_sha1(bytes, bytes.count, &digest)
        return Base64.encode(digest, .standard)
    }
}

/// The server's side of an upgrade: the request, and the answer (C-119, Specs/hostile.md row 110).
///
/// | state | owns | ends |
/// |---|---|---|
/// | reading | the bytes of the request so far, at most those of one read above `HTTPRequestParser.maxHeadByteCount` | its empty line, a fault, the timeout of the handshake |
package struct WebSocketServerUpgrade: Sendable {
    /// The result of received bytes.
    package enum Step: Sendable {
        /// The request is not complete.
        case incomplete
        /// The WebSocket begins behind the answer, with bytes of the client that have arrived already.
        case accepted(answer: [UInt8], rest: [UInt8])
        /// The connection ends with the response of the folder (C-131).
        case answered([UInt8], WebFolder.Share)
        /// The connection ends with the answer.
        case refused(WebSocketError, answer: [UInt8])
    }

    private let options: WebSocketOptions
    private let isSecure: Bool
    private var parser = HTTPRequestParser()
    /// The address of the client that a named proxy states in a complete request (C-122).
    package private(set) var client: SocketAddress?

    /// - Parameter isSecure: Whether the connection has TLS.
    package init(_ options: WebSocketOptions, isSecure: Bool) {
        (self.options, self.isSecure) = (options, isSecure)
    }

    /// Takes received bytes.
    ///
    /// - Parameter peer: The address from which they come, which can be that of a proxy.
    package mutating func receive(_ bytes: RawSpan, from peer: SocketAddress?) -> Step {
        parser.receive(bytes)
        let request: HTTPRequest?
        do throws(HTTPFault) { request = try parser.next() } catch {
            return Self.refuse(HTTPResponse.Status(error), isHead: parser.isFaultOfHead)
        }
        guard let request else { return .incomplete }
        if options.isForwarder(peer) { client = ForwardedAddress.find(in: request.fields, proxies: options.forwarders) }
        let isHead = request.method == "HEAD"
        if let files = options.files, request.path != options.path {
            if let share = files.takeShare() { return .answered(files.response(to: request), share) }
            let status = HTTPResponse.Status.serviceUnavailable
            return .refused(.refused(status: status.code), answer: WebFiles.text(status, isHead: isHead))
        }
        if let (status, fields) = fault(of: request, from: peer) { return Self.refuse(status, fields, isHead: isHead) }
        let answer = HTTPResponse(
            HTTPResponse.Status(code: 101),
            [
                HTTPField("upgrade", "websocket"), HTTPField("connection", "Upgrade"),
                HTTPField(
                    "sec-websocket-accept", WebSocketHandshake.acceptance(of: request["sec-websocket-key"] ?? "")),
                HTTPField("sec-websocket-protocol", WebSocketHandshake.subprotocol),
            ])
        return .accepted(answer: answer.headOfUpgrade(), rest: parser.takeRest())
    }

    /// The answer to a request that is not complete in time.
    package static let timeoutAnswer = HTTPResponse(.requestTimeout).bytes(isHead: false, closes: true)

    private static func refuse(_ status: HTTPResponse.Status, _ fields: [HTTPField] = [], isHead: Bool) -> Step {
        let type = HTTPField("content-type", "text/plain")
        let response = HTTPResponse(status, fields + [type], body: Array((status.phrase + "\n").utf8))
        return .refused(.refused(status: status.code), answer: response.bytes(isHead: isHead, closes: true))
    }

    /// The status and further fields of the answer to a request that is refused; nil for one that is accepted.
    private func fault(
        of request: HTTPRequest, from peer: SocketAddress?
    ) -> (HTTPResponse.Status, [HTTPField])? {
        guard request.method == "GET" else { return (.methodNotAllowed, [HTTPField("allow", "GET")]) }
        guard request.path == options.path else { return (.notFound, []) }
        guard request.minorVersion == 1, request.body.isEmpty, request.fields.list("upgrade", contains: "websocket"),
            request.fields.list("connection", contains: "upgrade"), let key = request.only("sec-websocket-key")
        else { return (.badRequest, []) }
        guard request["sec-websocket-version"] == WebSocketHandshake.version else {
            return (
                .upgradeRequired,
                [
                    HTTPField("upgrade", "websocket"),
                    HTTPField("sec-websocket-version", WebSocketHandshake.version),
                ]
            )
        }
        guard Base64.decode(key.utf8, .standard)?.count == WebSocketHandshake.nonceByteCount,
            let subprotocols = request["sec-websocket-protocol"],
            subprotocols.split(separator: ",").contains(where: { $0.trimmingSpaces == WebSocketHandshake.subprotocol })
        else { return (.badRequest, []) }
        guard request["origin"] != nil else { return nil }
        guard let origin = request.only("origin") else { return (.badRequest, []) }
        let isPermitted = options.permits(origin: origin, of: request, from: peer, isSecure: isSecure)
        return isPermitted ? nil : (.forbidden, [])
    }
}

extension HTTPRequest {
    /// The value of a field that occurs exactly once.
    fileprivate func only(_ name: String) -> String? {
        fields.count { $0.name == name } == 1 ? self[name] : nil
    }
}

/// The client's side of an upgrade: the request, and the answer (C-119, Specs/hostile.md row 113).
///
/// | state | owns | ends |
/// |---|---|---|
/// | reading | the bytes of the answer and of interim ones, at most `HTTPRequestParser.maxHeadByteCount` | its empty line, a fault, the timeout of the attempt |
package struct WebSocketClientUpgrade: Sendable {
    /// The result of received bytes.
    package enum Step: Sendable, Equatable {
        /// All bytes belong to the answer, which is not complete, or to interim ones.
        case incomplete
        /// The WebSocket begins behind this number of the received bytes.
        case accepted(byteCount: Int)
        case failed(WebSocketError)
    }

    /// The bytes of the request.
    package let request: [UInt8]
    private let acceptance: String
    private var answer: [UInt8] = []
    /// The number of bytes of interim answers (RFC 9110 §15.2), which begin `answer`.
    private var interimByteCount = 0

    /// - Parameter nonce: Sixteen random bytes.
    package init(to endpoint: Endpoint, nonce: [UInt8]) {
        precondition(nonce.count == WebSocketHandshake.nonceByteCount, "a nonce has sixteen bytes")
        let key = Base64.encode(nonce, .standard)
        acceptance = WebSocketHandshake.acceptance(of: key)
        let lines = [
            "GET \(endpoint.webSocketPath ?? Endpoint.defaultWebSocketPath) HTTP/1.1", "Host: \(endpoint.authority)",
            "Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Key: \(key)",
            "Sec-WebSocket-Version: \(WebSocketHandshake.version)",
            "Sec-WebSocket-Protocol: \(WebSocketHandshake.subprotocol)",
        ]
        request = Array((lines + ["", ""]).joined(separator: "\r\n").utf8)
    }

    /// Takes received bytes, up to the end of the answer.
    package mutating func receive(_ bytes: RawSpan) -> Step {
        for index in 0..<bytes.byteCount {
            answer.append(bytes.loadUInt8(at: index))
            guard answer.count <= HTTPRequestParser.maxHeadByteCount else { return .failed(.invalidResponse) }
            guard answer.last == UInt8(ascii: "\n"), answer.count >= interimByteCount + 4,
                answer.suffix(4).elementsEqual("\r\n\r\n".utf8)
            else { continue }
            guard let head = try? HTTPResponseHead(parsing: answer[interimByteCount...].dropLast(2)),
                head.minorVersion == 1
            else { return .failed(.invalidResponse) }
            if (100..<200).contains(head.status), head.status != 101 {
                interimByteCount = answer.count
                continue
            }
            if let error = fault(of: head) { return .failed(error) }
            return .accepted(byteCount: index + 1)
        }
        return .incomplete
    }

    private func fault(of head: HTTPResponseHead) -> WebSocketError? {
        guard head.status == 101 else { return .refused(status: head.status) }
        let fields = head.fields
        let isValid =
            fields[joined: "upgrade"]?.lowercased() == "websocket" && fields.list("connection", contains: "upgrade")
            && fields[joined: "sec-websocket-accept"] == acceptance
            && fields[joined: "sec-websocket-protocol"] == WebSocketHandshake.subprotocol
            && fields[joined: "sec-websocket-extensions"] == nil
        return isValid ? nil : .invalidResponse
    }
}
