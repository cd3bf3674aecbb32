import Foundation
import MartletTransport
import MartletWire

/// An HTTP server of a test. It answers each request with the next of its responses and closes the connection; without
/// a further response it closes the connection without an answer.
final class StubGateway: Sendable {
    /// A request.
    struct Request: Sendable {
        /// The first line.
        var line: String
        /// The fields by their names in lower case.
        var fields: [String: String]
        var body: [UInt8]
    }

    /// The body of a response.
    enum Body {
        /// Two bytes.
        case complete
        /// Bytes until the client closes the connection.
        case endless
        /// No bytes, although the head announces some.
        case stalled
    }

    let port: UInt16
    /// An element for each closed connection.
    let closed: AsyncStream<Void>
    private let listener: TCPListener
    private let state: State

    /// - Parameters:
    ///   - responses: The statuses, and further fields of the head.
    ///   - body: The body of each response.
    init(_ responses: (status: Int, fields: [String])..., body: Body = .complete) throws {
        let texts = responses.map { response in
            let byteCount = body == .complete ? 2 : Int.max
            let fields = response.fields + ["Content-Length: \(byteCount)", "Connection: close"]
            return "HTTP/1.1 \(response.status) Status\r\n" + fields.map { $0 + "\r\n" }.joined() + "\r\n"
                + (body == .stalled ? "" : "ok")
        }
        let state = State(texts)
        self.state = state
        let (closed, continuation) = AsyncStream<Void>.makeStream()
        self.closed = closed
        listener = try TCPListener.bind(to: SocketAddress(.loopbackV4, port: 0), on: .shared) { connection in
            connection.start(
                StubConnection(connection, body, closed: continuation) {
                    state.respond(to: $0)
                })
        }
        port = listener.localAddress.port
    }

    var url: String { "http://127.0.0.1:\(port)/push?key=1" }

    /// The requests so far.
    var requests: [Request] { state.requests }

    func close() async { await listener.closeAndWait() }

    private final class State: Sendable {
        private let lists: Guarded<(responses: [String], requests: [Request])>

        init(_ responses: [String]) {
            lists = Guarded((responses, []))
        }

        var requests: [Request] { lists.withLock { $0.requests } }

        func respond(to request: Request) -> String? {
            lists.withLock { lists in
                lists.requests.append(request)
                return lists.responses.isEmpty ? nil : lists.responses.removeFirst()
            }
        }
    }
}

/// A connection of the server. It retains itself by its transport until it closes.
private final class StubConnection: TransportHandler, @unchecked Sendable {
    private let connection: TCPConnection
    private let body: StubGateway.Body
    private let closed: AsyncStream<Void>.Continuation
    private let answer: (StubGateway.Request) -> String?
    private var input: [UInt8] = []
    private var output: [UInt8] = []

    init(
        _ connection: TCPConnection, _ body: StubGateway.Body, closed: AsyncStream<Void>.Continuation,
        _ answer: @escaping (StubGateway.Request) -> String?
    ) {
        self.connection = connection
        self.body = body
        self.closed = closed
        self.answer = answer
    }

    func transportDidConnect(_ transport: any Transport) {}

    func transport(_ transport: any Transport, didReceive bytes: RawSpan) {
        for index in 0..<bytes.byteCount { input.append(bytes.loadBigEndian(at: index, as: UInt8.self)) }
        guard let request = StubGateway.Request(input) else { return }
        input = []
        guard let text = answer(request) else { return connection.close(afterFlush: false) }
        output = Array(text.utf8)
        connection.setNeedsWrite()
        if body == .complete { connection.close(afterFlush: true) }
    }

    func transport(_ transport: any Transport, fill buffer: inout OutputRawSpan) -> Bool {
        let count = min(buffer.freeCapacity, output.count)
        buffer.append(bytes: output.rawBytes.extracting(0..<count))
        output.removeFirst(count)
        if body == .endless { output += Array(repeating: UInt8(ascii: "x"), count: count) }
        return !output.isEmpty
    }

    func transport(_ transport: any Transport, didClose reason: CloseReason) { closed.yield() }
}

extension StubGateway.Request {
    /// Parses a whole request; nil if a part is missing.
    fileprivate init?(_ bytes: [UInt8]) {
        let text = String(decoding: bytes, as: UTF8.self)
        guard let end = text.range(of: "\r\n\r\n") else { return nil }
        let lines = text[..<end.lowerBound].split(separator: "\r\n")
        var fields: [String: String] = [:]
        for line in lines.dropFirst() {
            let parts = line.split(separator: ":", maxSplits: 1)
            fields[parts[0].lowercased()] = parts.count > 1 ? parts[1].trimmingCharacters(in: .whitespaces) : ""
        }
        let body = Array(text[end.upperBound...].utf8)
        guard body.count >= Int(fields["content-length"] ?? "0") ?? 0 else { return nil }
        self.init(line: String(lines.first ?? ""), fields: fields, body: body)
    }
}
