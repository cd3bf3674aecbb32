package import MartletTransport
import MartletWire

/// A WebSocket over another transport (RFC 6455), whose binary messages are a stream of bytes (C-120).
///
/// `transportDidConnect` follows the upgrade. The handler's bytes are framed when the transport below requests bytes,
/// behind room for their header, so they are not copied.
///
/// | phase | meaning | left by |
/// |---|---|---|
/// | idle | not started | start |
/// | upgrading | a client's request or a server's answer is due; the handler's bytes wait | completion, a failure, close |
/// | open | | close, a failure, the end of the stream below |
/// | finishing | the handler's last bytes are sent, then a close frame | the transport below |
/// | closing | nothing more is sent but the output of the WebSocket itself, such as a close frame, or a response | the transport below |
package final class WebSocketTransport: Transport, @unchecked Sendable {  // All state is accessed on its loop only.
    private enum Phase: UInt8 {
        case idle
        case upgrading
        case open
        case finishing
        case closing
    }

    /// State that an idle connection does not have.
    private final class Activity {
        var client: WebSocketClientUpgrade?
        var server: WebSocketServerUpgrade?
        /// The unsent request, answer or close frame, from `sentCount` on.
        var output: [UInt8] = []
        var sentCount = 0
        /// The payload of the latest ping without an answer (RFC 6455 §5.5.3; Specs/hostile.md row 114).
        var ping: [UInt8]?
        /// The address that a proxy states.
        var statedAddress: SocketAddress?
        var closeReason: CloseReason?
        /// What a response retains until its end: its share of the folder, and the handler with the connection's.
        var held: [AnyObject] = []

        var unsentByteCount: Int { output.count - sentCount }
        var isOver: Bool {
            client == nil && server == nil && unsentByteCount == 0 && ping == nil && statedAddress == nil
                && closeReason == nil && held.isEmpty
        }
    }

    private let lower: any Transport
    private let isClient: Bool
    private var phase = Phase.idle
    /// The code of the close frame. It is normal unless the server stops.
    package var closeCode = WebSocketCloseCode.normal
    private var reader: WebSocketReader
    private var handler: (any TransportHandler)?
    private var activity: Activity?

    private init(_ lower: any Transport, _ reader: WebSocketReader, isClient: Bool, _ activity: Activity?) {
        (self.lower, self.reader, self.isClient, self.activity) = (lower, reader, isClient, activity)
    }

    /// The client's side, over a transport to the endpoint that is not started.
    package convenience init(to endpoint: Endpoint, over lower: any Transport) {
        var random = lower.loop.random
        let words = [random.next(), random.next()]
        let nonce = words.flatMap { word in (0..<8).map { UInt8(truncatingIfNeeded: word >> UInt64(8 * $0)) } }
        let activity = Activity()
        activity.client = WebSocketClientUpgrade(to: endpoint, nonce: nonce)
        self.init(lower, WebSocketReader(ofClient: false), isClient: true, activity)
    }

    /// The server's side, over a started transport, whose handler it becomes.
    package convenience init(
        _ options: WebSocketOptions, over lower: any Transport, handler: any TransportHandler
    ) {
        let activity = Activity()
        activity.server = WebSocketServerUpgrade(options, isSecure: lower.security != nil)
        self.init(lower, WebSocketReader(ofClient: true), isClient: false, activity)
        self.handler = handler
        phase = .upgrading
        lower.replaceHandler(self)
    }

    // MARK: - Properties

    package var loop: EventLoop { lower.loop }
    /// The address that a proxy states, or that of the transport below.
    package var remoteAddress: SocketAddress? { statedAddress ?? lower.remoteAddress }
    /// The address that a proxy states (C-122).
    private var statedAddress: SocketAddress? { activity?.statedAddress }
    /// Whether the connection has a response in place of the upgrade (C-131).
    package var isResponding: Bool { activity?.held.isEmpty == false }
    package var localAddress: SocketAddress? { lower.localAddress }
    package var unsentByteCount: Int { lower.unsentByteCount + (activity?.unsentByteCount ?? 0) }
    package var isStalled: Bool { lower.isStalled }
    package var security: TransportSecurity? { lower.security }
    package var applicationProtocol: String? { lower.applicationProtocol }

    /// Exports keying material of the transport below; see `Transport`.
    package func exportSecret(label: String, byteCount: Int) -> [UInt8]? {
        lower.exportSecret(label: label, byteCount: byteCount)
    }

    // MARK: - Transport

    /// Starts the transport below, and the upgrade when it is connected; see `Transport`.
    package func start(_ handler: any TransportHandler) {
        precondition(phase == .idle && self.handler == nil, "a transport is started once")
        self.handler = handler
        // A moved connection has completed its upgrade.
        phase = activity?.client == nil ? .open : .upgrading
        lower.start(self)
    }

    /// Replaces the handler; see `Transport`.
    package func replaceHandler(_ handler: any TransportHandler) {
        self.handler = handler
    }

    package func setNeedsWrite() { lower.setNeedsWrite() }
    package func flush() { lower.flush() }
    package func pauseReading() { lower.pauseReading() }
    package func resumeReading() { lower.resumeReading() }

    /// Closes the stream, with a close frame if it is flushed or the peer has sent one; see `Transport`.
    ///
    /// The transport below waits for the peer, whose close frame is discarded.
    package func close(afterFlush: Bool) {
        if reader.hasEnded, phase == .open { noteReason(.endOfStream) }
        switch phase {
        case .open where afterFlush: phase = .finishing
        case .open where reader.hasEnded:
            phase = .closing
            append(closeFrame(closeCode))
        case .upgrading where !isClient && afterFlush:
            phase = .closing
            append(WebSocketServerUpgrade.timeoutAnswer)
        case .idle, .upgrading, .open:
            phase = .closing
            return lower.close(afterFlush: false)
        case .finishing, .closing:
            if !afterFlush { lower.close(afterFlush: false) }
            return
        }
        lower.close(afterFlush: true)
    }

    /// Resets the connection; see `Transport`.
    package func abort() { lower.abort() }

    /// Moves the connection to another loop after the upgrade; see `Transport`.
    package func move(to loop: EventLoop) -> (any Transport)? {
        guard phase == .open, let moved = lower.move(to: loop) else { return nil }
        handler = nil
        let transport = WebSocketTransport(moved, reader, isClient: isClient, activity)
        transport.closeCode = closeCode
        activity = nil
        return transport
    }

    // MARK: - The output of the WebSocket itself

    private var presentActivity: Activity {
        if let activity { return activity }
        let new = Activity()
        activity = new
        return new
    }

    private func append(_ bytes: [UInt8]) { presentActivity.output += bytes }

    private func noteReason(_ reason: CloseReason) {
        let activity = presentActivity
        activity.closeReason = activity.closeReason ?? reason
    }

    /// The mask of the next frame; nil at a server.
    private var nextKey: UInt32? {
        guard isClient else { return nil }
        var random = loop.random
        return UInt32(truncatingIfNeeded: random.next())
    }

    private func closeFrame(_ code: WebSocketCloseCode) -> [UInt8] { WebSocketWriter.close(code, key: nextKey) }

    /// Writes the output. Returns whether all of it has been written.
    private func writeOutput(into buffer: inout OutputRawSpan) -> Bool {
        guard let activity else { return true }
        if phase == .open || phase == .finishing, let payload = activity.ping.take() {
            activity.output += WebSocketWriter.pong(payload, key: nextKey)
        }
        let count = min(activity.unsentByteCount, buffer.freeCapacity)
        let output = activity.output
        buffer.append(bytes: output.rawBytes.extracting(activity.sentCount..<activity.sentCount + count))
        activity.sentCount += count
        guard activity.unsentByteCount == 0 else { return false }
        (activity.output, activity.sentCount) = ([], 0)
        if activity.isOver { self.activity = nil }
        return true
    }

    // MARK: - Input

    /// Ends the connection after a violation or a refusal. A peer of an open WebSocket gets a close frame (C-123).
    private func fail(_ error: WebSocketError, answer: [UInt8] = []) {
        guard activity?.closeReason == nil else { return }
        noteReason(.error(.webSocket(error)))
        append(phase == .upgrading ? answer : closeFrame(WebSocketCloseCode(error)))
        let isSilent = phase == .upgrading && answer.isEmpty
        phase = .closing
        lower.close(afterFlush: !isSilent)
    }

    private func receiveAnswer(_ bytes: RawSpan) {
        guard let step = activity?.client?.receive(bytes) else { return }
        switch step {
        case .incomplete: break
        case .failed(let error): fail(error)
        case .accepted(let byteCount):
            opened()
            if byteCount < bytes.byteCount { read(bytes.extracting(byteCount...)) }
        }
    }

    private func receiveRequest(_ bytes: RawSpan) {
        guard let step = activity?.server?.receive(bytes, from: lower.remoteAddress) else { return }
        activity?.statedAddress = activity?.server?.client
        switch step {
        case .incomplete: break
        case .refused(let error, let answer): fail(error, answer: answer)
        case .answered(let response, let share): respond(response, share)
        case .accepted(let answer, let rest):
            append(answer)
            opened()
            if !rest.isEmpty { read(rest.rawBytes) }
        }
    }

    /// Sends a response in place of the upgrade (C-131). For the handler the connection ends before it is sent.
    private func respond(_ response: [UInt8], _ share: WebFolder.Share) {
        phase = .closing
        let (activity, handler) = (presentActivity, handler)
        activity.server = nil
        // All responses with a file have its bytes in common.
        activity.output = response
        activity.held = [share]
        self.handler = nil
        if let handler {
            activity.held.append(handler)
            handler.transport(self, didClose: .endOfStream)
        }
        lower.close(within: WebFolder.responseTimeout)
    }

    private func opened() {
        phase = .open
        activity?.client = nil
        activity?.server = nil
        if activity?.isOver == true { activity = nil }
        handler?.transportDidConnect(self)
        lower.setNeedsWrite()
    }

    /// Reads frames, and passes the bytes of messages to the handler.
    private func read(_ bytes: RawSpan) {
        var offset = 0
        do throws(WebSocketError) {
            while phase == .open, offset < bytes.byteCount {
                if isClient {
                    guard let event = try reader.next(in: bytes, at: &offset) else { return }
                    if case .data(let range, _) = event {
                        handler?.transport(self, didReceive: bytes.extracting(range))
                    } else {
                        take(event)
                    }
                } else {
                    try readMasked(bytes, at: &offset)
                }
            }
        } catch {
            if phase == .open { fail(error) }
        }
    }

    /// Reads frames up to the end of the input, or to another event than data. The unmasked bytes are passed at once.
    private func readMasked(_ bytes: RawSpan, at offset: inout Int) throws(WebSocketError) {
        var result: Result<WebSocketReader.Event?, WebSocketError> = .success(nil)
        let buffer = loop.unmaskedBuffer
        let (count, _) = buffer.fill(buffer.byteCount) { plain in
            while offset < bytes.byteCount, plain.freeCapacity > 0 {
                let part = bytes.extracting(0..<min(bytes.byteCount, offset + plain.freeCapacity))
                do throws(WebSocketError) {
                    guard let event = try reader.next(in: part, at: &offset) else { continue }
                    guard case .data(let range, let key) = event else {
                        result = .success(event)
                        return false
                    }
                    let start = plain.byteCount
                    plain.append(bytes: part.extracting(range))
                    plain.mask(from: start, key: key)
                } catch {
                    result = .failure(error)
                    return false
                }
            }
            return false
        }
        if count > 0 { buffer.withBytes(count) { handler?.transport(self, didReceive: $0) } }
        if let event = try result.get() { take(event) }
    }

    private func take(_ event: WebSocketReader.Event) {
        guard phase == .open else { return }
        switch event {
        case .data: break
        case .ping(let payload):
            presentActivity.ping = payload
            lower.setNeedsWrite()
        case .close: handler?.transportDidReceiveEndOfStream(self)
        }
    }
}

extension WebSocketTransport: TransportHandler {
    /// Sends a client's request.
    package func transportDidConnect(_ transport: any Transport) {
        guard let request = activity?.client?.request else {
            handler?.transportDidConnect(self)
            return
        }
        append(request)
        lower.setNeedsWrite()
    }

    package func transport(_ transport: any Transport, didReceive bytes: RawSpan) {
        switch phase {
        case .upgrading where isClient: receiveAnswer(bytes)
        case .upgrading: receiveRequest(bytes)
        case .open: read(bytes)
        case .idle, .finishing, .closing: break
        }
    }

    /// Frames the handler's bytes.
    package func transport(_ transport: any Transport, fill buffer: inout OutputRawSpan) -> Bool {
        guard writeOutput(into: &buffer) else { return true }
        guard phase == .open || phase == .finishing else { return false }
        let start = buffer.byteCount
        WebSocketWriter.reserve(in: &buffer, isMasked: isClient)
        let mayHaveMore = handler?.transport(self, fill: &buffer) ?? false
        let isFilled = WebSocketWriter.seal(&buffer, from: start, key: nextKey)
        guard !isFilled, phase == .finishing else { return mayHaveMore || phase == .finishing }
        phase = .closing
        append(closeFrame(closeCode))
        return !writeOutput(into: &buffer)
    }

    /// The end of the stream without a close frame is a loss.
    package func transportDidReceiveEndOfStream(_ transport: any Transport) {
        switch phase {
        case .upgrading where isClient: fail(.invalidResponse)
        case .open where reader.hasEnded: break
        case .idle, .upgrading, .open:
            noteReason(.reset)
            lower.close(afterFlush: false)
        case .finishing, .closing: break
        }
    }

    /// Reports the failure of the WebSocket, or the reason of the transport below.
    package func transport(_ transport: any Transport, didClose reason: CloseReason) {
        phase = .closing
        let handler = handler
        self.handler = nil
        handler?.transport(self, didClose: activity?.closeReason ?? reason)
        activity?.held = []
    }
}
