import MartletHTTP
import MartletToolTestSupport
import MartletTransport
import MartletWire
import Testing

@testable import MartletWebSocket

@Suite("Files for requests that are no WebSocket")
struct WebFilesTests {
    private static let files = WebFolder(
        WebFiles([
            "index.html": Array("<h1>home</h1>".utf8), "app.js": Array("run()".utf8),
            "sub/index.html": Array("sub".utf8),
            "sub/a b.txt": Array("blank".utf8), "ü.txt": Array("umlaut".utf8), "empty.css": [],
            "README": Array("r".utf8), "a.wasm": [0],
        ]))

    /// The head and the content of the response to a request, which is cut at a byte.
    private static func response(
        _ request: String, cut: Int = 0, files: WebFolder = files
    ) -> (status: String, fields: [String], body: String)? {
        var options = WebSocketOptions()
        options.files = files
        var upgrade = WebSocketServerUpgrade(options, isSecure: false)
        let bytes = Array(request.utf8)
        for part in [bytes[..<cut], bytes[cut...]] {
            let answer: [UInt8]
            switch upgrade.receive(part.rawBytes, from: nil) {
            case .incomplete: continue
            case .accepted: return ("101", [], "")
            case .answered(let bytes, _), .refused(_, let bytes): answer = bytes
            }
            let text = String(decoding: answer, as: UTF8.self)
            let lines = text.split(separator: "\r\n", omittingEmptySubsequences: false).map(String.init)
            guard let end = lines.firstIndex(of: "") else { return nil }
            return (
                String(lines[0].dropFirst(9).prefix(3)), lines[1..<end].sorted(),
                lines[(end + 1)...].joined(separator: "\r\n")
            )
        }
        return nil
    }

    private static func get(_ path: String, method: String = "GET", _ fields: String...) -> String {
        (["\(method) \(path) HTTP/1.1", "Host: a"] + fields + ["", ""]).joined(separator: "\r\n")
    }

    private static func field(_ name: String, in fields: [String]) -> String? {
        fields.first { $0.hasPrefix(name + ": ") }.map { String($0.dropFirst(name.utf8.count + 2)) }
    }

    // C-131
    @Test(
        "a path, cut at every byte -> its file, its type, or the status",
        arguments: [
            ("/", "200", "text/html; charset=utf-8", "<h1>home</h1>"),
            ("/index.html", "200", "text/html; charset=utf-8", "<h1>home</h1>"),
            ("/?room=lobby", "200", "text/html; charset=utf-8", "<h1>home</h1>"),
            ("http://a/app.js", "200", "text/javascript; charset=utf-8", "run()"),
            ("/%61pp.js", "200", "text/javascript; charset=utf-8", "run()"),
            ("/sub/", "200", "text/html; charset=utf-8", "sub"),
            ("/sub/a%20b.txt", "200", "text/plain; charset=utf-8", "blank"),
            ("/%C3%BC.txt", "200", "text/plain; charset=utf-8", "umlaut"),
            ("/empty.css", "200", "text/css; charset=utf-8", ""), ("/README", "200", "application/octet-stream", "r"),
            ("/a.wasm", "200", "application/wasm", "\0"),
            ("/sub", "301", "text/plain; charset=utf-8", "Moved Permanently\n"),
            ("/none", "404", "text/plain; charset=utf-8", "Not Found\n"),
            ("/APP.JS", "404", "text/plain; charset=utf-8", "Not Found\n"),
            ("/app.js/", "404", "text/plain; charset=utf-8", "Not Found\n"),
            ("/../app.js", "404", "text/plain; charset=utf-8", "Not Found\n"),
            ("/sub/../app.js", "404", "text/plain; charset=utf-8", "Not Found\n"),
            ("/%2e%2e/app.js", "404", "text/plain; charset=utf-8", "Not Found\n"),
            ("/./app.js", "404", "text/plain; charset=utf-8", "Not Found\n"),
            ("//app.js", "404", "text/plain; charset=utf-8", "Not Found\n"),
            ("/%2Fapp.js", "404", "text/plain; charset=utf-8", "Not Found\n"),
            ("/sub%5Cindex.html", "404", "text/plain; charset=utf-8", "Not Found\n"),
            ("/app.js%00", "404", "text/plain; charset=utf-8", "Not Found\n"),
            ("/%", "400", "text/plain; charset=utf-8", "Bad Request\n"),
            ("/%4", "400", "text/plain; charset=utf-8", "Bad Request\n"),
            ("/%+1", "400", "text/plain; charset=utf-8", "Bad Request\n"),
            ("/%FF", "400", "text/plain; charset=utf-8", "Bad Request\n"),
        ])
    func paths(_ path: String, _ status: String, _ type: String, _ body: String) throws {
        let request = Self.get(path)
        for cut in 0...request.utf8.count {
            let found = try #require(Self.response(request, cut: cut))
            #expect(found.status == status && found.body == body, "cut at \(cut)")
            #expect(Self.field("content-type", in: found.fields) == type)
            #expect(Self.field("content-length", in: found.fields) == "\(body.utf8.count)")
            #expect(Self.field("connection", in: found.fields) == "close")
            #expect(Self.field("x-content-type-options", in: found.fields) == "nosniff")
            #expect(Self.field("content-security-policy", in: found.fields)?.hasPrefix("default-src 'none'; ") == true)
            #expect(Self.field("location", in: found.fields) == (status == "301" ? "/sub/" : nil))
        }
    }

    // C-131
    @Test("HEAD -> the fields of GET without the content", arguments: ["/", "/app.js", "/none", "/sub", "/%"])
    func head(_ path: String) throws {
        let full = try #require(Self.response(Self.get(path)))
        let head = try #require(Self.response(Self.get(path, method: "HEAD")))
        #expect(head.status == full.status && head.fields == full.fields && head.body == "" && full.body != "")
    }

    // C-131
    @Test(
        "a folder without the slash -> 301 with the query",
        arguments: [("/sub?a=/b&c", "/sub/?a=/b&c"), ("/sub?", "/sub/?")])
    func redirect(_ path: String, _ location: String) throws {
        let found = try #require(Self.response(Self.get(path)))
        #expect(found.status == "301" && Self.field("location", in: found.fields) == location)
    }

    // C-119, C-131
    @Test("a request of HEAD that is refused -> the status without a content")
    func refusedHead() throws {
        let files = WebFolder(WebFiles([:]))
        let shares = (0..<WebFolder.maxResponseCount).map { _ in files.takeShare() }
        for (request, status) in [
            ("HEAD / HTTP/1.1\r\n\r\n", "400"), (Self.get("/martlet", method: "HEAD"), "405"),
            (Self.get("/", method: "HEAD"), "503"),
        ] {
            let found = try #require(Self.response(request, files: files))
            #expect(found.status == status && found.body == "")
        }
        withExtendedLifetime(shares) {}
    }

    // C-131
    @Test("a request beyond the bound on responses -> 503 with the fields of all answers")
    func busy() throws {
        let files = WebFolder(WebFiles([:]))
        let shares = (0..<WebFolder.maxResponseCount).map { _ in files.takeShare() }
        let found = try #require(Self.response(Self.get("/"), files: files))
        #expect(found.status == "503" && found.body == "Service Unavailable\n")
        #expect(Self.field("x-content-type-options", in: found.fields) == "nosniff")
        #expect(Self.field("content-security-policy", in: found.fields)?.hasPrefix("default-src 'none'; ") == true)
        withExtendedLifetime(shares) {}
    }

    // C-131
    @Test("other methods -> 405 with those that there are")
    func methods() throws {
        for method in ["POST", "PUT", "DELETE", "OPTIONS", "get"] {
            let found = try #require(Self.response(Self.get("/app.js", method: method)))
            #expect(found.status == "405" && Self.field("allow", in: found.fields) == "GET, HEAD")
        }
    }

    // C-131
    @Test("If-None-Match with the tag of the file -> 304 without a content or a length; with others -> 200")
    func entityTags() throws {
        func entityTag(_ path: String) -> String? {
            Self.response(Self.get(path)).flatMap { Self.field("etag", in: $0.fields) }
        }
        let tag = try #require(entityTag("/app.js"))
        let other = try #require(entityTag("/"))
        #expect(tag != other && tag.utf8.count == 34)
        for value in [tag, "W/\(tag)", "\(other), \(tag)", "*"] {
            for method in ["GET", "HEAD"] {
                let request = Self.get("/app.js", method: method, "If-None-Match: \(value)")
                let found = try #require(Self.response(request))
                #expect(found.status == "304" && found.body == "" && Self.field("etag", in: found.fields) == tag)
                #expect(Self.field("content-length", in: found.fields) == nil)
            }
        }
        for value in [other, tag.replacing("\"", with: ""), "\"\""] {
            #expect(Self.response(Self.get("/app.js", "If-None-Match: \(value)"))?.status == "200")
        }
        let changed = try #require(Self.response(Self.get("/app.js"), files: WebFolder(WebFiles(["app.js": [1]]))))
        #expect(Self.field("etag", in: changed.fields) != tag)
    }

    // C-131, Specs/hostile.md row 110
    @Test("a request that is malformed or long -> the status of its fault")
    func faults() {
        let long = String(repeating: "a", count: HTTPRequestParser.maxHeadByteCount)
        #expect(Self.response(Self.get("/\(long)"))?.status == "431")
        #expect(Self.response(Self.get("/", "X: \(long)"))?.status == "431")
        #expect(Self.response("GET / HTTP/1.1\r\n\r\n")?.status == "400")
        #expect(Self.response("GET  / HTTP/1.1\r\nHost: a\r\n\r\n")?.status == "400")
        #expect(Self.response("GET / HTTP/3.0\r\nHost: a\r\n\r\n")?.status == "505")
        #expect(Self.response("GET / HTTP/1.1\r\nHost: a\r\n") == nil)
    }

    // C-131
    @Test("a folder before and after a change, missing and too large -> its files at each reading; its errors")
    func folders() throws {
        try withTemporaryFolder { path in
            let folder = try WebFolder(path)
            func found() -> String? {
                Self.response(Self.get("/a.txt"), files: folder).map { "\($0.status) \($0.body)" }
            }
            #expect(found() == "404 Not Found\n")
            try RegularFile("\(path)/a.txt", .write).write(Array("text".utf8), at: 0)
            #expect(found() == "404 Not Found\n")
            folder.replaceFiles(byThoseOf: try WebFolder(path))
            #expect(found() == "200 text")
            let error = #expect(throws: WebFolderError.self) { try WebFolder("\(path)/none") }
            #expect(error == .unreadable(path: "\(path)/none", reason: "open: No such file or directory"))
            #expect("\(WebFolderError.tooManyBytes(path: path))" == "\(path) has more than 16 MiB")
            try RegularFile("\(path)/big", .write).truncate(to: UInt64(WebFolder.maxByteCount) + 1)
            #expect(throws: WebFolderError.tooManyBytes(path: path)) { try WebFolder(path) }
        }
    }
}
