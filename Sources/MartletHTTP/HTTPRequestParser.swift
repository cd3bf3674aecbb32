import MartletWire

/// Requests from the bytes of one connection (RFC 9112).
///
/// | state | input | left by |
/// |---|---|---|
/// | head | bytes up to the first empty line, at most `maxHeadByteCount` | the empty line |
/// | body | bytes up to the length of the content, at most `maxBodyByteCount` | the last byte |
/// | failed | discarded | nothing |
///
/// What RFC 9112 lets a recipient repair is refused, because a proxy in front can repair it in another way: lines that
/// end with LF alone, folded lines, spaces before a colon, several lengths, a length beside a transfer encoding.
package struct HTTPRequestParser: Sendable {
    /// The maximum number of bytes of the request line and the fields.
    package static let maxHeadByteCount = 16 << 10
    /// The maximum number of fields.
    package static let maxFieldCount = 100
    /// The maximum number of bytes of the content.
    package static let maxBodyByteCount = 64 << 10

    private enum State: Sendable {
        case head
        case body(HTTPRequest, byteCount: Int)
        case failed(HTTPFault)
    }

    private var state = State.head
    private var buffer: [UInt8] = []
    /// The bytes before the current request.
    private var taken = 0
    /// The bytes in which no empty line ends.
    private var searched = 0
    /// Whether the client waits for permission to send the content (RFC 9110 §10.1.1).
    private var isExpectingContinue = false
    /// Whether the request with a fault has the method HEAD, whose response has no content (RFC 9110 §9.3.2).
    package private(set) var isFaultOfHead = false

    /// A parser at the start of a connection.
    package init() {}

    /// The number of bytes that no returned request contains. Reading pauses while it is above
    /// ``maxHeadByteCount`` and a request is in progress.
    package var bufferedByteCount: Int { buffer.count - taken }

    /// Whether bytes of an incomplete request have arrived.
    package var isInRequest: Bool { if case .body = state { true } else { bufferedByteCount > 0 } }

    /// Appends received bytes.
    package mutating func receive(_ bytes: RawSpan) {
        if case .failed = state { return }
        if taken == buffer.count {
            buffer.removeAll(keepingCapacity: true)
            (taken, searched) = (0, 0)
        }
        buffer.append(bytes: bytes)
    }

    /// Removes and returns the bytes behind the latest request, which another protocol reads.
    package mutating func takeRest() -> [UInt8] {
        let rest = Array(buffer[taken...])
        take(rest.count)
        return rest
    }

    /// Returns whether the client waits for `100 Continue`, once for each request.
    package mutating func takeExpectation() -> Bool {
        guard case .body(_, let byteCount) = state, bufferedByteCount < byteCount else { return false }
        defer { isExpectingContinue = false }
        return isExpectingContinue
    }

    /// Returns the next complete request; nil if more bytes are required.
    package mutating func next() throws(HTTPFault) -> HTTPRequest? {
        do throws(HTTPFault) {
            while true {
                switch state {
                case .failed(let fault): throw fault
                case .body(var request, let byteCount):
                    guard bufferedByteCount >= byteCount else { return nil }
                    request.body = Array(buffer[taken..<taken + byteCount])
                    take(byteCount)
                    state = .head
                    return request
                case .head:
                    guard let end = try headEnd() else { return nil }
                    let head = buffer[taken..<end - 2]
                    let (request, byteCount, expects) = try HTTPRequest.parse(head)
                    take(end - taken)
                    isExpectingContinue = expects
                    state = .body(request, byteCount: byteCount)
                }
            }
        } catch {
            if case .head = state { isFaultOfHead = buffer[taken...].starts(with: "HEAD ".utf8) }
            state = .failed(error)
            buffer = []
            (taken, searched) = (0, 0)
            throw error
        }
    }

    private mutating func take(_ byteCount: Int) {
        taken += byteCount
        searched = taken
        // The rest of a long buffer moves to its start.
        if taken > Self.maxHeadByteCount {
            buffer.removeFirst(taken)
            (taken, searched) = (0, 0)
        }
    }

    /// Returns the index behind the empty line of the head; nil if it has not arrived.
    private mutating func headEnd() throws(HTTPFault) -> Int? {
        // Empty lines before a request are ignored (RFC 9112 §2.2).
        while buffer.count >= taken + 2, buffer[taken] == UInt8(ascii: "\r"), buffer[taken + 1] == UInt8(ascii: "\n") {
            take(2)
        }
        var index = max(searched, taken + 3)
        while index < buffer.count {
            if buffer[index] == UInt8(ascii: "\n"), buffer[index - 1] == UInt8(ascii: "\r"),
                buffer[index - 2] == UInt8(ascii: "\n"), buffer[index - 3] == UInt8(ascii: "\r")
            {
                guard index + 1 - taken <= Self.maxHeadByteCount else { throw .headTooLarge }
                return index + 1
            }
            index += 1
        }
        searched = buffer.count
        guard bufferedByteCount < Self.maxHeadByteCount else { throw .headTooLarge }
        return nil
    }
}

/// The status line and the fields of a response (RFC 9112 §4), with the strictness and the bounds of requests.
package struct HTTPResponseHead: Sendable, Equatable {
    package let status: UInt16
    /// 0 for HTTP/1.0, and 1 for HTTP/1.1 and higher minor versions (RFC 9110 §2.5).
    package let minorVersion: Int
    /// The bytes of the reason phrase, which mean nothing.
    package let reason: [UInt8]
    /// The fields in their order. Names are in lowercase.
    package let fields: [HTTPField]

    /// Parses the bytes of a head, without the empty line at its end.
    package init(parsing head: ArraySlice<UInt8>) throws(HTTPFault) {
        var lines = HTTPRequest.Lines(rest: head)
        guard let first = try lines.next(), first.count >= 9,
            first[first.startIndex + 8] == UInt8(ascii: " ")
        else { throw .malformed }
        minorVersion = try HTTPRequest.minorVersion(first.prefix(8))
        let digits = first.dropFirst(9).prefix(3)
        guard digits.count == 3, digits.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }),
            first.count == 12 || first[first.startIndex + 12] == UInt8(ascii: " ")
        else { throw .malformed }
        reason = Array(first.dropFirst(13))
        status = digits.reduce(0) { $0 * 10 + UInt16($1 - UInt8(ascii: "0")) }
        var fields: [HTTPField] = []
        while let line = try lines.next() {
            guard fields.count < HTTPRequestParser.maxFieldCount else { throw .headTooLarge }
            fields.append(try HTTPRequest.field(line))
        }
        self.fields = fields
    }
}

extension HTTPRequest {
    /// Parses a request line and fields, each ended by CR LF.
    ///
    /// - Returns: The request without its content, the length of the content, and whether the client waits for
    ///   permission to send it.
    fileprivate static func parse(
        _ head: ArraySlice<UInt8>
    ) throws(HTTPFault) -> (request: HTTPRequest, byteCount: Int, expectsContinue: Bool) {
        var lines = Lines(rest: head)
        guard let first = try lines.next() else { throw .malformed }
        let parts = first.split(separator: UInt8(ascii: " "), omittingEmptySubsequences: false)
        guard parts.count == 3, !parts[0].isEmpty, parts[0].allSatisfy(\.isTokenCharacter) else { throw .malformed }
        let minor = try minorVersion(parts[2])
        var request = HTTPRequest(
            method: String(decoding: parts[0], as: UTF8.self), path: "", fields: [], body: [],
            closesConnection: minor == 0, minorVersion: minor)
        try request.setTarget(parts[1])
        while let line = try lines.next() {
            guard request.fields.count < HTTPRequestParser.maxFieldCount else { throw .headTooLarge }
            request.fields.append(try field(line))
        }
        let hosts = request.fields.count { $0.name == "host" }
        let host = request["host"] ?? ""
        guard hosts == 1 || minor == 0 && hosts == 0, isAuthority(host[...]) else { throw .malformed }
        if request.host.isEmpty { request.host = host }
        if let connection = request["connection"]?.lowercased() {
            let options = connection.split(separator: ",").map(\.trimmingSpaces)
            request.closesConnection = options.contains("close") || minor == 0 && !options.contains("keep-alive")
        }
        let byteCount = try request.contentByteCount()
        return (request, byteCount, try request.expectsContinue && minor == 1)
    }

    private var expectsContinue: Bool {
        get throws(HTTPFault) {
            guard let expectation = self["expect"] else { return false }
            guard expectation.lowercased() == "100-continue" else { throw .expectationFailed }
            return true
        }
    }

    private func contentByteCount() throws(HTTPFault) -> Int {
        let lengths = fields.filter { $0.name == "content-length" }
        let encoding = self["transfer-encoding"]
        guard lengths.count <= 1, lengths.isEmpty || encoding == nil else { throw .malformed }
        // A request is refused rather than read in chunks: no client of these resources sends one.
        if encoding != nil { throw .lengthRequired }
        guard let text = lengths.first?.value else { return 0 }
        guard !text.isEmpty, text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) else {
            throw .malformed
        }
        guard let count = Int(text), count <= HTTPRequestParser.maxBodyByteCount else { throw .contentTooLarge }
        return count
    }

    fileprivate static func minorVersion(_ text: ArraySlice<UInt8>) throws(HTTPFault) -> Int {
        guard text.count == 8, text.starts(with: "HTTP/".utf8), text[text.startIndex + 6] == UInt8(ascii: ".") else {
            throw .malformed
        }
        let (major, minor) = (text[text.startIndex + 5], text[text.startIndex + 7])
        guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(minor) else { throw .malformed }
        guard major == UInt8(ascii: "1") else { throw .unsupportedVersion }
        return minor == UInt8(ascii: "0") ? 0 : 1
    }

    /// Sets the parts of a target in origin form or absolute form (RFC 9112 §3.2).
    private mutating func setTarget(_ target: ArraySlice<UInt8>) throws(HTTPFault) {
        guard target.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else { throw .malformed }
        var text = String(decoding: target, as: UTF8.self)[...]
        for scheme in ["http://", "https://"] where text.lowercased().hasPrefix(scheme) {
            text = text.dropFirst(scheme.count)
            let authority = text.prefix { $0 != "/" && $0 != "?" }
            guard !authority.isEmpty, !authority.hasPrefix(":"), Self.isAuthority(authority) else { throw .malformed }
            host = String(authority)
            let rest = text[authority.endIndex...]
            text = rest.hasPrefix("/") ? rest : "/" + rest
        }
        // The target of OPTIONS for the whole server.
        if method == "OPTIONS", text == "*" {
            path = "*"
            return
        }
        guard text.hasPrefix("/"), !text.contains("#") else { throw .malformed }
        path = String(text.prefix { $0 != "?" })
        query = String(text.dropFirst(path.count))
    }

    fileprivate static func field(_ line: ArraySlice<UInt8>) throws(HTTPFault) -> HTTPField {
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")), colon > line.startIndex,
            line[..<colon].allSatisfy(\.isTokenCharacter)
        else { throw .malformed }
        var value = line[(colon + 1)...]
        while let byte = value.first, byte.isSpace { value = value.dropFirst() }
        while let byte = value.last, byte.isSpace { value = value.dropLast() }
        guard value.allSatisfy({ $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }) else { throw .malformed }
        let name = String(decoding: line[..<colon], as: UTF8.self).lowercased()
        return HTTPField(name, String(decoding: value, as: UTF8.self))
    }

    /// The lines of a head, without CR LF.
    fileprivate struct Lines {
        private var rest: ArraySlice<UInt8>

        init(rest: ArraySlice<UInt8>) { self.rest = rest }

        mutating func next() throws(HTTPFault) -> ArraySlice<UInt8>? {
            guard !rest.isEmpty else { return nil }
            guard let end = rest.firstIndex(of: UInt8(ascii: "\n")), end > rest.startIndex,
                rest[end - 1] == UInt8(ascii: "\r")
            else { throw .malformed }
            let line = rest[..<(end - 1)]
            guard !line.contains(UInt8(ascii: "\r")) else { throw .malformed }
            rest = rest[(end + 1)...]
            return line
        }
    }
}

extension UInt8 {
    /// Whether the byte is allowed in a method and in the name of a field (RFC 9110 §5.6.2).
    fileprivate var isTokenCharacter: Bool {
        switch self {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: "!#$%&'*+-.^_`|~".utf8.contains(self)
        }
    }

    fileprivate var isSpace: Bool { self == 0x20 || self == 0x09 }
}

extension Substring {
    package var trimmingSpaces: Substring {
        var text = self
        while text.first == " " || text.first == "\t" { text = text.dropFirst() }
        while text.last == " " || text.last == "\t" { text = text.dropLast() }
        return text
    }
}
