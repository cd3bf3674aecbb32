/// A response of HTTP/1.1.
package struct HTTPResponse: Sendable {
    /// The status of a response.
    package struct Status: Sendable, Hashable {
        package let code: UInt16

        package static let ok = Status(code: 200)
        package static let noContent = Status(code: 204)
        package static let movedPermanently = Status(code: 301)
        package static let notModified = Status(code: 304)
        package static let badRequest = Status(code: 400)
        package static let unauthorized = Status(code: 401)
        package static let forbidden = Status(code: 403)
        package static let notFound = Status(code: 404)
        package static let methodNotAllowed = Status(code: 405)
        package static let requestTimeout = Status(code: 408)
        package static let upgradeRequired = Status(code: 426)
        package static let serviceUnavailable = Status(code: 503)

        package init(code: UInt16) { self.code = code }

        package init(_ fault: HTTPFault) { code = fault.rawValue }

        /// The phrase of the status line, which has no meaning for clients.
        package var phrase: String {
            switch code {
            case 100: "Continue"
            case 101: "Switching Protocols"
            case 200: "OK"
            case 204: "No Content"
            case 301: "Moved Permanently"
            case 304: "Not Modified"
            case 400: "Bad Request"
            case 401: "Unauthorized"
            case 403: "Forbidden"
            case 404: "Not Found"
            case 405: "Method Not Allowed"
            case 408: "Request Timeout"
            case 411: "Length Required"
            case 413: "Content Too Large"
            case 417: "Expectation Failed"
            case 426: "Upgrade Required"
            case 431: "Request Header Fields Too Large"
            case 503: "Service Unavailable"
            case 505: "HTTP Version Not Supported"
            default: ""
            }
        }
    }

    package var status: Status
    /// Fields beside those that `head` adds. Names and values contain no control characters.
    package var fields: [HTTPField]
    /// The content.
    package var body: [UInt8]

    /// A response with a content.
    package init(_ status: Status, _ fields: [HTTPField] = [], body: [UInt8] = []) {
        self.status = status
        self.fields = fields
        self.body = body
    }

    /// A response with a text.
    package init(_ status: Status = .ok, text: String, type: String = "text/plain; charset=utf-8") {
        self.init(status, [HTTPField("content-type", type)], body: Array(text.utf8))
    }

    /// The bytes of the response.
    ///
    /// - Parameters:
    ///   - isHead: Whether the request has the method HEAD, whose response has no content.
    ///   - closes: Whether the connection ends with the response.
    package func bytes(isHead: Bool, closes: Bool) -> [UInt8] {
        var head = Self.statusLine(status)
        for field in fields { Self.append(field, to: &head) }
        if status != .noContent, status != .notModified {
            Self.append(HTTPField("content-length", "\(body.count)"), to: &head)
        }
        if closes { Self.append(HTTPField("connection", "close"), to: &head) }
        head += "\r\n"
        return Array(head.utf8) + (isHead ? [] : body)
    }

    /// The head of a response whose content ends with the connection, such as a stream of events.
    package func headOfStream() -> [UInt8] {
        var head = Self.statusLine(status)
        for field in fields + [HTTPField("connection", "close")] { Self.append(field, to: &head) }
        return Array((head + "\r\n").utf8)
    }

    /// The head of a response after which the connection has another protocol.
    package func headOfUpgrade() -> [UInt8] {
        var head = Self.statusLine(status)
        for field in fields { Self.append(field, to: &head) }
        return Array((head + "\r\n").utf8)
    }

    /// The interim response to a request that waits for permission to send its content.
    package static let continueBytes = Array((statusLine(Status(code: 100)) + "\r\n").utf8)

    private static func statusLine(_ status: Status) -> String { "HTTP/1.1 \(status.code) \(status.phrase)\r\n" }

    private static func append(_ field: HTTPField, to head: inout String) {
        precondition(
            (field.name + field.value).utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F },
            "a field of a response contains no control characters")
        head += "\(field.name): \(field.value)\r\n"
    }
}

/// An event of a stream for browsers (WHATWG HTML, server-sent events).
package struct ServerSentEvent: Sendable, Equatable {
    /// The position that a client repeats as `Last-Event-ID` when it connects again; nil for none.
    package var id: UInt64?
    /// The type; nil for "message".
    package var type: String?
    /// The text, which may have several lines.
    package var data: String

    package init(id: UInt64? = nil, type: String? = nil, data: String) {
        self.id = id
        self.type = type
        self.data = data
    }

    package var bytes: [UInt8] {
        var text = ""
        if let type { text += "event: \(type)\n" }
        if let id { text += "id: \(id)\n" }
        for line in data.split(separator: "\n", omittingEmptySubsequences: false) { text += "data: \(line)\n" }
        return Array((text + "\n").utf8)
    }
}
