import MartletAuthentication
import MartletHTTP
import MartletTransport
import MartletWire

/// Files as responses to requests of HTTP (C-131), without input or output.
struct WebFiles: Sendable {
    /// A file with the response that contains all of it.
    private struct File: Sendable {
        let entityTag: String
        let response: [UInt8]
        let headByteCount: Int
    }

    /// A page may use files of its own host and connect to it, and run no script of its own text.
    private static let policy =
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; media-src 'self' blob:; "
        + "font-src 'self'; connect-src 'self'; worker-src 'self'; manifest-src 'self'; base-uri 'none'; "
        + "form-action 'none'; frame-ancestors 'none'"
    private static let safety = [
        HTTPField("content-security-policy", policy), HTTPField("x-content-type-options", "nosniff"),
        HTTPField("referrer-policy", "no-referrer"),
    ]
    /// The name of the file that stands for its folder.
    private static let index = "index.html"
    private static let types = [
        "html": "text/html; charset=utf-8", "js": "text/javascript; charset=utf-8",
        "mjs": "text/javascript; charset=utf-8", "css": "text/css; charset=utf-8", "json": "application/json",
        "map": "application/json", "webmanifest": "application/manifest+json", "txt": "text/plain; charset=utf-8",
        "svg": "image/svg+xml", "png": "image/png", "ico": "image/x-icon", "jpg": "image/jpeg", "jpeg": "image/jpeg",
        "webp": "image/webp", "gif": "image/gif", "woff2": "font/woff2", "wasm": "application/wasm",
    ]

    /// The files by their paths without the first slash.
    private let files: [RelativePath: File]

    /// Files by their paths in their folder.
    init(_ contents: [RelativePath: [UInt8]]) {
        files = Dictionary(uniqueKeysWithValues: contents.map { ($0.key, Self.file($0.value, at: $0.key.text)) })
    }

    private static func file(_ content: [UInt8], at path: String) -> File {
        let digest = DigestStream()
        digest.add(content)
        let digits = digest.finish().prefix(16).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }
        let entityTag = "\"\(digits.joined())\""
        let name = path.split(separator: "/").last ?? ""
        let ending = name.lastIndex(of: ".").map { name[$0...].dropFirst().lowercased() } ?? ""
        let type = HTTPField("content-type", types[ending] ?? "application/octet-stream")
        let response = HTTPResponse(.ok, [type] + validators(entityTag) + safety, body: content)
        let bytes = response.bytes(isHead: false, closes: true)
        return File(entityTag: entityTag, response: bytes, headByteCount: bytes.count - content.count)
    }

    /// A browser keeps a file, and asks before each use whether it is still the same.
    private static func validators(_ entityTag: String) -> [HTTPField] {
        [HTTPField("etag", entityTag), HTTPField("cache-control", "no-cache")]
    }

    /// Returns the bytes of the response, after which the connection ends.
    func response(to request: HTTPRequest) -> [UInt8] {
        guard request.method == "GET" || request.method == "HEAD" else {
            return Self.text(.methodNotAllowed, [HTTPField("allow", "GET, HEAD")])
        }
        let isHead = request.method == "HEAD"
        // A path that does not begin with a slash is that of OPTIONS.
        guard let path = Self.decode(request.path.dropFirst()) else { return Self.text(.badRequest, isHead: isHead) }
        let isFolder = path.isEmpty || path.hasSuffix("/")
        guard let file = files[RelativePath(isFolder ? path + Self.index : path)] else {
            guard !isFolder, files[RelativePath("\(path)/\(Self.index)")] != nil else {
                return Self.text(.notFound, isHead: isHead)
            }
            // Links of the page are relative to the folder.
            let location = HTTPField("location", "\(request.path)/\(request.query)")
            return Self.text(.movedPermanently, [location], isHead: isHead)
        }
        let isKnown = ["*", file.entityTag, "w/" + file.entityTag].contains {
            request.fields.list("if-none-match", contains: $0)
        }
        if isKnown {
            let response = HTTPResponse(.notModified, Self.validators(file.entityTag) + Self.safety)
            return response.bytes(isHead: isHead, closes: true)
        }
        return isHead ? Array(file.response.prefix(file.headByteCount)) : file.response
    }

    /// The response of a status, with its phrase.
    static func text(
        _ status: HTTPResponse.Status, _ fields: [HTTPField] = [], isHead: Bool = false
    ) -> [UInt8] {
        let type = HTTPField("content-type", "text/plain; charset=utf-8")
        let response = HTTPResponse(status, fields + [type] + safety, body: Array((status.phrase + "\n").utf8))
        return response.bytes(isHead: isHead, closes: true)
    }

    /// Returns a text without its percent-encodings; nil if one is not valid.
    private static func decode(_ text: Substring) -> String? {
        var bytes: [UInt8] = []
        var rest = text.utf8[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard let high = rest.popFirst().flatMap(digit), let low = rest.popFirst().flatMap(digit)
            else { return nil }
            bytes.append(high << 4 | low)
        }
        return String(validating: bytes, as: UTF8.self)
    }

    private static func digit(_ byte: UInt8) -> UInt8? {
        Character(UnicodeScalar(byte)).hexDigitValue.map { UInt8($0) }
    }
}
