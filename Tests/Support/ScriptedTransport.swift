package import MartletTransport
import MartletWire

/// A transport without a socket below the tested one. The test gives it input and takes its output, on its loop.
package final class ScriptedTransport: Transport, @unchecked Sendable {  // The loop accesses all state.
    /// How the user has ended the stream.
    package enum End: Equatable {
        case flushed
        case discarded
        case aborted
    }

    package let loop: EventLoop
    package let remoteAddress: SocketAddress?
    package let applicationProtocol: String?
    package private(set) var end: End?
    /// The duration of a close that has one.
    package private(set) var closeDuration: Duration?
    package private(set) var needsWrite = false
    private var handler: (any TransportHandler)?

    package init(on loop: EventLoop, remote: SocketAddress? = nil, applicationProtocol: String? = nil) {
        (self.loop, remoteAddress, self.applicationProtocol) = (loop, remote, applicationProtocol)
    }

    package var localAddress: SocketAddress? { nil }
    package var unsentByteCount: Int { 0 }
    package var isStalled: Bool { false }

    package func start(_ handler: any TransportHandler) { self.handler = handler }
    package func replaceHandler(_ handler: any TransportHandler) { self.handler = handler }
    package func setNeedsWrite() { needsWrite = true }
    package func pauseReading() {}
    package func resumeReading() {}
    package func abort() { end = end ?? .aborted }
    package func close(afterFlush: Bool) {
        end = end ?? (afterFlush ? .flushed : .discarded)
        needsWrite = true
    }

    package func close(within duration: Duration) {
        closeDuration = duration
        close(afterFlush: true)
    }

    // MARK: For tests

    package func connect() { handler?.transportDidConnect(self) }
    package func give(_ bytes: [UInt8]) { handler?.transport(self, didReceive: bytes.rawBytes) }
    package func giveEnd() { handler?.transportDidReceiveEndOfStream(self) }
    package func didClose(_ reason: CloseReason = .local) { handler?.transport(self, didClose: reason) }

    /// Returns what the user sends, in fills of this size.
    package func take(capacity: Int = 64 << 10) -> [UInt8] {
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
package final class RecordingHandler: TransportHandler {
    package private(set) var received: [UInt8] = []
    package private(set) var connectCount = 0
    package private(set) var endCount = 0
    package private(set) var reason: CloseReason?
    package var outgoing: [UInt8] = []

    package init() {}

    package func transportDidConnect(_ transport: any Transport) { connectCount += 1 }
    package func transport(_ transport: any Transport, didReceive bytes: RawSpan) {
        received += [UInt8](copying: bytes)
    }
    package func transportDidReceiveEndOfStream(_ transport: any Transport) { endCount += 1 }
    package func transport(_ transport: any Transport, didClose reason: CloseReason) { self.reason = reason }

    package func transport(_ transport: any Transport, fill buffer: inout OutputRawSpan) -> Bool {
        let count = min(buffer.freeCapacity, outgoing.count)
        buffer.append(bytes: outgoing.rawBytes.extracting(0..<count))
        outgoing.removeFirst(count)
        return !outgoing.isEmpty
    }
}

/// Runs `body` on a loop of its own, and returns when it has returned.
package func onLoop(_ body: @escaping @Sendable (EventLoop) -> Void) async throws {
    let loop = try EventLoop(name: "websocket")
    await withCheckedContinuation { continuation in
        loop.execute {
            body(loop)
            continuation.resume()
        }
    }
    await loop.shutdown()
}
