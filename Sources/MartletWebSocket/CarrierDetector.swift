package import MartletTransport
import MartletWire

/// Decides whether an accepted transport carries frames of Martlet or a WebSocket, by the application protocol of TLS,
/// and otherwise by the first bytes (C-118).
///
/// | state | owns | ends |
/// |---|---|---|
/// | detecting | the first bytes, at most seven | the application protocol; a byte that no method has, or the last one of a method; the end of the transport |
///
/// The detector is the handler of the transport until then. A transport of frames is that of the caller without a
/// layer thereafter.
package final class CarrierDetector: TransportHandler {
    /// The begin of a request. The first byte of a frame is not one of a text (W-5).
    private static let methods = [Array("GET ".utf8)]
    /// The begins of requests where there are files (C-131).
    private static let methodsWithFiles =
        methods + ["HEAD ", "POST ", "PUT ", "DELETE ", "OPTIONS ", "PATCH "].map { Array($0.utf8) }

    private let options: WebSocketOptions
    private let handler: any TransportHandler
    private let onWebSocket: (WebSocketTransport) -> Void
    private var bytes: [UInt8] = []
    private var closeReason: CloseReason?

    private init(
        _ options: WebSocketOptions, _ handler: any TransportHandler,
        _ onWebSocket: @escaping (WebSocketTransport) -> Void
    ) {
        (self.options, self.handler, self.onWebSocket) = (options, handler, onWebSocket)
    }

    /// Starts a transport.
    ///
    /// - Parameters:
    ///   - handler: The handler of the transport, or of the WebSocket over it.
    ///   - onWebSocket: Receives a WebSocket before its upgrade.
    package static func start(
        _ transport: any Transport, _ options: WebSocketOptions, handler: any TransportHandler,
        onWebSocket: @escaping (WebSocketTransport) -> Void
    ) {
        transport.start(CarrierDetector(options, handler, onWebSocket))
    }

    private func beginFrames(_ transport: any Transport) {
        transport.replaceHandler(handler)
        handler.transportDidConnect(transport)
    }

    @discardableResult
    private func beginWebSocket(_ transport: any Transport) -> WebSocketTransport {
        let webSocket = WebSocketTransport(options, over: transport, handler: handler)
        onWebSocket(webSocket)
        return webSocket
    }

    package func transportDidConnect(_ transport: any Transport) {
        switch transport.applicationProtocol {
        case TransportSecurity.martletProtocol: beginFrames(transport)
        case TransportSecurity.webProtocol: beginWebSocket(transport)
        default: break
        }
    }

    package func transport(_ transport: any Transport, didReceive bytes: RawSpan) {
        self.bytes += [UInt8](copying: bytes)
        let received = self.bytes
        let methods = options.files == nil ? Self.methods : Self.methodsWithFiles
        let isRequest = methods.contains { received.starts(with: $0) }
        if !isRequest, methods.contains(where: { $0.starts(with: received) }) { return }
        self.bytes = []
        if isRequest {
            beginWebSocket(transport).transport(transport, didReceive: received.rawBytes)
        } else if transport.applicationProtocol == nil {
            beginFrames(transport)
            handler.transport(transport, didReceive: received.rawBytes)
        } else {
            // Frames over TLS require their application protocol (C-65, Specs/hostile.md row 115).
            closeReason = .error(.tls(.noCommonProtocol))
            transport.close(afterFlush: false)
        }
    }

    package func transport(_ transport: any Transport, fill buffer: inout OutputRawSpan) -> Bool {
        handler.transport(transport, fill: &buffer)
    }

    package func transportDidReceiveEndOfStream(_ transport: any Transport) {
        handler.transportDidReceiveEndOfStream(transport)
    }

    package func transport(_ transport: any Transport, didClose reason: CloseReason) {
        handler.transport(transport, didClose: closeReason ?? reason)
    }
}
