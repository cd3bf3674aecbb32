import MartletHTTP
import MartletToolTestSupport
import Testing

@Suite struct HTTPServerTests {
    // Specs/hostile.md row 133
    @Test func `a connection beyond the bound → aborted, and one after the end of another → kept`() async throws {
        try await onLoop { loop in
            let server = HTTPServer(on: loop) { _, _ in .response(HTTPResponse(.ok)) }
            func accept() -> ScriptedTransport {
                let transport = ScriptedTransport(on: loop)
                server.accept(transport)
                return transport
            }
            let kept = (0..<HTTPServer.maxConnectionCount).map { _ in accept() }
            #expect(kept.allSatisfy { $0.end == nil })
            #expect(accept().end == .aborted)
            kept[7].didClose()
            let next = accept()
            #expect(next.end == nil && accept().end == .aborted)
            for each in kept { each.didClose() }
            next.didClose()
        }
    }
}
