import MartletTransport
import MartletWire
import Testing

@testable import MartletLink

@Suite("An attempt on routes over sockets", .timeLimit(.minutes(10)))
struct RouteAttemptTests {
    /// A proxy that answers the requests of all connections with a script.
    private final class ScriptedProxy: @unchecked Sendable {  // The loop accesses all state.
        private(set) var requests: [String] = []
        private var answers: [String]

        init(_ answers: [String]) { self.answers = answers }

        /// Returns the answer to a request; nil to end the connection.
        fileprivate func answer(_ request: String) -> String? {
            requests.append(request)
            return answers.isEmpty ? nil : answers.removeFirst()
        }
    }

    private final class Connection: TransportHandler {
        private let proxy: ScriptedProxy
        private var request: [UInt8] = []
        private var answer: [UInt8] = []

        init(_ proxy: ScriptedProxy) { self.proxy = proxy }

        func transportDidConnect(_ transport: any Transport) {}

        func transport(_ transport: any Transport, didReceive bytes: RawSpan) {
            request += [UInt8](copying: bytes)
            guard request.suffix(4).elementsEqual("\r\n\r\n".utf8) else { return }
            let text = proxy.answer(String(decoding: request, as: UTF8.self))
            (request, answer) = ([], Array((text ?? "").utf8))
            if text?.hasPrefix("HTTP/1.1 200") == true {
                transport.setNeedsWrite()
            } else {
                transport.close(afterFlush: true)
            }
        }

        func transport(_ transport: any Transport, fill buffer: inout OutputRawSpan) -> Bool {
            buffer.append(bytes: answer.rawBytes)
            answer = []
            return false
        }

        func transport(_ transport: any Transport, didClose reason: CloseReason) {}
    }

    /// Attempts to connect through a proxy on this machine. Returns the description of the route or the failures.
    private static func connect(to address: String, through proxy: ScriptedProxy) async throws -> String {
        let loop = try EventLoop(name: "routes")
        let socket = try TCPListener.Socket(listeningOn: SocketAddress(.loopbackV4, port: 0))
        let listener = TCPListener(socket, on: loop) { $0.start(Connection(proxy)) }
        let url = "http://ann:secret@127.0.0.1:\(listener.localAddress.port)"
        let selector = ProxySelector(.proxy(try ProxyAddress(url))) { _ in nil }
        let plan = RoutePlan(to: [try Endpoint(parsing: address)], proxies: selector, usesWebSocket: true)
        let attempts = Guarded<RouteAttempt?>(nil)
        let result = await withCheckedContinuation { continuation in
            loop.execute {
                // The proxy ends each connection before TLS.
                let secure: RouteAttempt.Secure = { lower, _ throws(TLSError) in lower }
                let attempt = RouteAttempt(plan, on: loop, options: .init(), secure: secure) { result in
                    switch result {
                    case .success(let (index, transport)):
                        transport.abort()
                        continuation.resume(returning: plan.route(index).key)
                    case .failure(let failures):
                        continuation.resume(returning: "\(failures.failure); \(failures.detail)")
                    }
                }
                attempts.withLock { $0 = attempt }
                attempt.start()
            }
        }
        await listener.closeAndWait()
        await loop.shutdown()
        return result
    }

    // C-127, C-128
    @Test func `a challenge that ends the connection → the route through a second one`() async throws {
        let challenge = "HTTP/1.1 407 x\r\nProxy-Authenticate: Basic realm=x\r\nConnection: close\r\n\r\n"
        let proxy = ScriptedProxy([challenge, "HTTP/1.1 200 OK\r\n\r\n"])
        #expect(try await Self.connect(to: "martlet://chat.example", through: proxy) == "proxy")
        #expect(proxy.requests.count == 2)
        #expect(proxy.requests.last?.hasSuffix("\r\nProxy-Authorization: Basic YW5uOnNlY3JldA==\r\n\r\n") == true)
    }

    // C-127
    @Test func `refusals of a proxy → the routes one after the other, and the failure of the first`() async throws {
        let proxy = ScriptedProxy(["HTTP/1.1 403 no\r\n\r\n", "HTTP/1.1 502 no\r\n\r\n"])
        let result = try await Self.connect(to: "martlets://chat.example", through: proxy)
        #expect(result.hasPrefix("proxyFailure; proxy 127.0.0.1:"))
        #expect(result.hasSuffix(": the proxy refuses with the status 502 (no)"))
        #expect(
            proxy.requests.map { String($0.prefix { $0 != "\r\n" }) } == [
                "CONNECT chat.example:7227 HTTP/1.1", "CONNECT chat.example:443 HTTP/1.1",
            ])
    }
}
