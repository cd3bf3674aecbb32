import MartletTransport
import MartletWire

/// A transport without a socket below the tested one. The test gives it input and takes its output, on its loop.
final class ScriptedTransport: Transport, @unchecked Sendable {  // The loop accesses all state.
    /// How the user has ended the stream.
    enum End: Equatable {
        case flushed
        case discarded
        case aborted
    }

    let loop: EventLoop
    let remoteAddress: SocketAddress?
    let applicationProtocol: String?
    private(set) var end: End?
    private(set) var needsWrite = false
    private var handler: (any TransportHandler)?

    init(on loop: EventLoop, remote: SocketAddress? = nil, applicationProtocol: String? = nil) {
        (self.loop, remoteAddress, self.applicationProtocol) = (loop, remote, applicationProtocol)
    }

    var localAddress: SocketAddress? { nil }
    var unsentByteCount: Int { 0 }
    var isStalled: Bool { false }

    func start(_ handler: any TransportHandler) { self.handler = handler }
    func replaceHandler(_ handler: any TransportHandler) { self.handler = handler }
    func setNeedsWrite() { needsWrite = true }
    func pauseReading() {}
    func resumeReading() {}
    func abort() { end = end ?? .aborted }
    func close(afterFlush: Bool) {
        end = end ?? (afterFlush ? .flushed : .discarded)
        needsWrite = true
    }

    // MARK: For tests

    func connect() { handler?.transportDidConnect(self) }
    func give(_ bytes: [UInt8]) { handler?.transport(self, didReceive: bytes.rawBytes) }
    func giveEnd() { handler?.transportDidReceiveEndOfStream(self) }
    func didClose(_ reason: CloseReason = .local) { handler?.transport(self, didClose: reason) }

    /// Returns what the user sends, in fills of this size.
    func take(capacity: Int = 64 << 10) -> [UInt8] {
        var bytes: [UInt8] = []
        needsWrite = false
        while true {
            var mayHaveMore = false
            let part = [UInt8](capacity: capacity) { mayHaveMore = handler?.transport(self, fill: &$0) ?? false }
            bytes += part
            if part.isEmpty || !mayHaveMore { return bytes }
        }
    }
}

/// A handler that records its events, and sends what the test gives it.
final class RecordingHandler: TransportHandler {
    private(set) var received: [UInt8] = []
    private(set) var connectCount = 0
    private(set) var endCount = 0
    private(set) var reason: CloseReason?
    var outgoing: [UInt8] = []

    func transportDidConnect(_ transport: any Transport) { connectCount += 1 }
    func transport(_ transport: any Transport, didReceive bytes: RawSpan) { received += [UInt8](copying: bytes) }
    func transportDidReceiveEndOfStream(_ transport: any Transport) { endCount += 1 }
    func transport(_ transport: any Transport, didClose reason: CloseReason) { self.reason = reason }

    func transport(_ transport: any Transport, fill buffer: inout OutputRawSpan) -> Bool {
        let count = min(buffer.freeCapacity, outgoing.count)
        buffer.append(bytes: outgoing.rawBytes.extracting(0..<count))
        outgoing.removeFirst(count)
        return !outgoing.isEmpty
    }
}

/// Runs `body` on a loop of its own, and returns when it has returned.
func onLoop(_ body: @escaping @Sendable (EventLoop) -> Void) async throws {
    let loop = try EventLoop(name: "websocket")
    await withCheckedContinuation { continuation in
        loop.execute {
            body(loop)
            continuation.resume()
        }
    }
    await loop.shutdown()
}
