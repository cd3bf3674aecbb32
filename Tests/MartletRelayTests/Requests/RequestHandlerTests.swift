import MartletProtocol
import MartletRelay
import MartletWire
import Testing

@Suite("A handler of an embedding program")
struct RequestHandlerTests {
    private struct Parrot: RequestHandler {
        func respond(to request: RelayRequest) async -> RequestAnswer {
            guard request.method.text == "echo" else {
                return RequestAnswer(status: .unknownMethod, reason: "I only say echo")
            }
            let text = "\(request.sender) in \(request.room)"
            let echoed = (try? RequestAnswer(content: (request.content ?? []) + Message.textContent(text)))
            return echoed ?? RequestAnswer(status: .invalidValue)
        }
    }

    @Test("answers what names no recipient and is no method of the relay's")
    func answers() async throws {
        try await withRelay(requestHandler: Parrot()) { _, port in
            let alice = try await WirePeer.connect(to: port)
            try await alice.hello()
            try await alice.open()
            let content = Message.textContent("polly")
            await alice.send(
                Request(correlation: 5, method: MethodName("echo")!, deadline: .seconds(60), content: content),
                on: .first)
            let response: Response = try await alice.expect()
            #expect(response.correlation == 5)
            #expect(response.content == content + Message.textContent("alice in lobby"))

            await alice.send(Request(correlation: 6, method: MethodName("fly")!, deadline: .seconds(60)), on: .first)
            let refusal: Response = try await alice.expect()
            #expect(refusal.status == .unknownMethod)
            #expect(refusal.reason == "I only say echo")
        }
    }

    @Test("a content that is no TLVs makes no answer")
    func malformed() {
        #expect(throws: WireError.self) { try RequestAnswer(content: [1, 2, 3]) }
    }
}
