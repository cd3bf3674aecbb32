import MartletWire

@testable import MartletTransport

/// One end of a stream without a socket. The test takes its output and gives it input, on the loop.
final class MemoryTransport: Transport, @unchecked Sendable {  // The loop accesses all state.
    let loop: EventLoop
    private var handler: (any TransportHandler)?
    private var needsWrite = false
    private var discardsOutput = false
    /// Whether the user has closed the stream.
    private(set) var isClosing = false

    init(on loop: EventLoop) {
        self.loop = loop
    }

    var remoteAddress: SocketAddress? { nil }
    var localAddress: SocketAddress? { nil }
    var unsentByteCount: Int { 0 }
    var isStalled: Bool { false }

    func start(_ handler: any TransportHandler) { self.handler = handler }
    func replaceHandler(_ handler: any TransportHandler) { self.handler = handler }
    func setNeedsWrite() { needsWrite = true }
    func pauseReading() {}
    func resumeReading() {}
    func abort() { close(afterFlush: false) }

    func close(afterFlush: Bool) {
        isClosing = true
        needsWrite = true
        discardsOutput = discardsOutput || !afterFlush
    }

    // MARK: For tests

    /// Whether the last event was reported.
    var isClosed: Bool { handler == nil }

    func connect() { handler?.transportDidConnect(self) }

    /// Returns and removes the output.
    func take() -> [UInt8] {
        guard let handler, needsWrite, !discardsOutput else { return [] }
        needsWrite = false
        var bytes: [UInt8] = []
        while true {
            let part = filledBytes(capacity: 64 << 10) { _ = handler.transport(self, fill: &$0) }
            if part.isEmpty { return bytes }
            bytes += part
        }
    }

    func give(_ bytes: [UInt8]) {
        if !isClosing { handler?.transport(self, didReceive: bytes.rawBytes) }
    }

    /// Ends the stream of the peer.
    func end() {
        if !isClosing { handler?.transportDidReceiveEndOfStream(self) }
    }

    /// Reports the last event.
    func finish(_ reason: CloseReason) {
        let handler = handler
        self.handler = nil
        handler?.transport(self, didClose: reason)
    }
}
