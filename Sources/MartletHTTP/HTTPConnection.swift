import MartletWire

/// The server's end of a connection of HTTP/1.1, without input or output.
///
/// | state | means | left by |
/// |---|---|---|
/// | reading | no request is in progress | a complete request; a fault: ending |
/// | answering | the application has a request | `respond`: reading, or ending; `beginStream` |
/// | streaming | the content of a response has no end yet | `endStream`, a slow peer: ending |
/// | ending | the unsent bytes are the last | |
///
/// One request of a connection is in progress at a time, so responses have the order of the requests.
struct HTTPConnection {
    /// The maximum number of unsent bytes of a stream.
    static let maxStreamByteCount = 1 << 20
    /// The maximum duration from the first byte of a request to its last one, in seconds.
    static let requestTimeout = 10
    /// The maximum duration without a request or a stream, and without progress of unsent bytes, in seconds.
    static let idleTimeout = 60
    /// The maximum number of unsent bytes of responses with which the next request is taken.
    static let maxUnsentByteCount = 64 << 10

    /// A duration after which the connection ends. It begins with each change of `timeout`.
    struct Timeout: Equatable {
        let seconds: Int
        /// The number of sent bytes, each of which begins the duration again; 0 for a request.
        let sentByteCount: Int
    }

    private enum State {
        case reading
        case answering(isHead: Bool, closes: Bool)
        case streaming
        case ending
    }

    private var state = State.reading
    private var parser = HTTPRequestParser()
    private var unsent: [UInt8] = []
    private var sentCount = 0
    private var totalSentByteCount = 0
    /// Whether the peer has ended its direction.
    private var hasReceivedEnd = false

    var unsentByteCount: Int { unsent.count - sentCount }
    /// Whether the connection is to be closed after its unsent bytes.
    var isEnding: Bool { if case .ending = state { true } else { false } }
    var isStreaming: Bool { if case .streaming = state { true } else { false } }
    /// Whether the peer does not read the responses, so its next request waits.
    private var isCongested: Bool {
        if case .reading = state { unsentByteCount > Self.maxUnsentByteCount } else { false }
    }
    /// Whether the next request waits, and enough input behind it.
    var isReadingPaused: Bool {
        guard case .answering = state else { return isCongested }
        return parser.bufferedByteCount >= HTTPRequestParser.maxHeadByteCount
    }

    /// The duration after which the connection ends; nil while the application has a request, or a stream without
    /// unsent bytes.
    var timeout: Timeout? {
        switch state {
        case .reading where parser.isInRequest && !isCongested: Timeout(seconds: Self.requestTimeout, sentByteCount: 0)
        case .answering: nil
        case .streaming where unsentByteCount == 0: nil
        case .reading, .streaming, .ending: Timeout(seconds: Self.idleTimeout, sentByteCount: totalSentByteCount)
        }
    }

    /// Takes received bytes. Those of a peer that has a stream have no meaning.
    mutating func receive(_ bytes: RawSpan) {
        switch state {
        case .reading, .answering: parser.receive(bytes)
        case .streaming, .ending: break
        }
    }

    /// The peer sends no more. Responses in progress are still sent.
    mutating func receiveEnd() {
        hasReceivedEnd = true
        if case .reading = state { state = .ending }
        if case .streaming = state { state = .ending }
    }

    /// Returns the next request, which `respond` or `beginStream` answers; nil if there is none, or if it waits.
    mutating func nextRequest() -> HTTPRequest? {
        guard case .reading = state, !isCongested else { return nil }
        do throws(HTTPFault) {
            guard let request = try parser.next() else {
                if parser.takeExpectation() { unsent += HTTPResponse.continueBytes }
                return nil
            }
            state = .answering(isHead: request.method == "HEAD", closes: request.closesConnection)
            return request
        } catch {
            unsent += HTTPResponse(HTTPResponse.Status(error)).bytes(isHead: false, closes: true)
            state = .ending
            return nil
        }
    }

    /// Answers the request.
    mutating func respond(_ response: HTTPResponse) {
        guard case .answering(let isHead, let closes) = state else { return }
        let isLast = closes || hasReceivedEnd && !parser.isInRequest
        unsent += response.bytes(isHead: isHead, closes: isLast)
        state = isLast ? .ending : .reading
    }

    /// Answers the request with a content that has no end yet. Returns whether there is a stream: the method HEAD has
    /// none.
    mutating func beginStream(_ response: HTTPResponse) -> Bool {
        guard case .answering(let isHead, _) = state else { return false }
        unsent += response.headOfStream() + response.body
        state = isHead || hasReceivedEnd ? .ending : .streaming
        return isStreaming
    }

    /// Appends bytes to the stream. Beyond the maximum the stream ends, and its client continues on a new connection
    /// after the last event that it has received.
    mutating func send(_ bytes: [UInt8]) {
        guard case .streaming = state else { return }
        guard unsentByteCount + bytes.count <= Self.maxStreamByteCount else { return state = .ending }
        unsent += bytes
    }

    mutating func endStream() {
        if case .streaming = state { state = .ending }
    }

    /// The duration of `timeout` has passed. Returns whether the connection is to be closed at once, because the peer
    /// does not read.
    mutating func timedOut() -> Bool {
        guard case .reading = state, !isCongested else { return true }
        if parser.isInRequest { unsent += HTTPResponse(.requestTimeout).bytes(isHead: false, closes: true) }
        state = .ending
        return false
    }

    /// Moves unsent bytes to a buffer. Returns whether there are more.
    mutating func transmit(into buffer: inout OutputRawSpan) -> Bool {
        let count = min(unsentByteCount, buffer.freeCapacity)
        buffer.append(bytes: unsent.rawBytes.extracting(sentCount..<sentCount + count))
        sentCount += count
        totalSentByteCount += count
        if sentCount == unsent.count {
            unsent.removeAll(keepingCapacity: unsent.count <= HTTPRequestParser.maxHeadByteCount)
            sentCount = 0
        }
        return unsentByteCount > 0
    }
}
