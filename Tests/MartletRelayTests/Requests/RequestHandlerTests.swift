import MartletLink
import MartletRelay
import MartletWire
import Testing

@Suite("Request handler")
struct RequestHandlerTests {
    private struct EchoHandler: RequestHandler {
        func respond(to request: RelayRequest) async -> RequestAnswer {
            guard request.method.text == "echo" else {
                return RequestAnswer(status: .unknownMethod, reason: "only echo is known")
            }
            let text = "\(request.sender) in \(request.room.map { "\($0)" } ?? "no room")"
            let echoed = (try? RequestAnswer(content: (request.content ?? []) + Message.textContent(text)))
            return echoed ?? RequestAnswer(status: .invalidValue)
        }
    }

    @Test("request without recipient is answered by the handler")
    func answers() async throws {
        try await withRelay(requestHandler: EchoHandler()) { _, port in
            let alice = try await WirePeer.connect(to: port)
            try await alice.hello()
            try await alice.open()
            let content = Message.textContent("text")
            await alice.send(
                Request(correlation: 5, method: MethodName("echo")!, deadline: .seconds(60), content: content),
                on: .first)
            let response: Response = try await alice.expect()
            #expect(response.correlation == 5)
            #expect(response.content == content + Message.textContent("alice in lobby"))

            await alice.send(Request(correlation: 6, method: MethodName("other")!, deadline: .seconds(60)), on: .first)
            let refusal: Response = try await alice.expect()
            #expect(refusal.status == .unknownMethod)
            #expect(refusal.reason == "only echo is known")
        }
    }

    @Test("malformed content throws")
    func malformed() {
        #expect(throws: WireError.self) { try RequestAnswer(content: [1, 2, 3]) }
    }
}
