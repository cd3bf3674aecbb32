import MartletWire
import Testing

@testable import MartletTransport

@Suite struct ProxiedTransportTests {
    private static let header = Array("PROXY TCP4 192.0.2.7 198.51.100.1 56324 443\r\n".utf8)

    /// Records the calls of a transport.
    private final class Recorder: TransportHandler {
        var calls: [String] = []

        func transportDidConnect(_ transport: any Transport) { calls.append("connected") }

        func transport(_ transport: any Transport, didReceive bytes: RawSpan) {
            calls.append(String(decoding: [UInt8](copying: bytes), as: UTF8.self))
        }

        func transport(_ transport: any Transport, fill buffer: inout OutputRawSpan) -> Bool { false }

        func transport(_ transport: any Transport, didClose reason: CloseReason) { calls.append("closed") }
    }

    /// Reads a header from a stream in memory. Returns the calls of the user, the address, and whether the stream below
    /// is closed.
    private func run(
        starts: Bool = true, _ steps: @escaping @Sendable (MemoryTransport) -> Void
    ) async throws -> (calls: [String], address: SocketAddress?, isClosing: Bool) {
        let loop = try EventLoop(name: "proxied")
        let result = await loop.run {
            let memory = MemoryTransport(on: loop)
            let recorder = Recorder()
            var address: SocketAddress?
            ProxiedTransport.read(memory, within: .seconds(5)) { transport in
                guard let transport else { return recorder.calls.append("invalid") }
                address = transport.remoteAddress
                if starts { transport.start(recorder) }
            }
            memory.connect()
            steps(memory)
            return (recorder.calls, address, memory.isClosing)
        }
        await loop.shutdown()
        return result
    }

    // C-114
    @Test func `a header and the first bytes → the address of the client, then the bytes`() async throws {
        let result = try await run {
            $0.give(Array(Self.header.prefix(9)))
            $0.give(Self.header.dropFirst(9) + Array("hello".utf8))
            $0.give(Array("more".utf8))
            $0.finish(.endOfStream)
        }
        #expect(result.calls == ["connected", "hello", "more", "closed"])
        #expect(result.address == SocketAddress("192.0.2.7:56324"))
        #expect(!result.isClosing)
    }

    // C-114, Specs/hostile.md row 105
    @Test func `an invalid header → closed without a call of the user`() async throws {
        let result = try await run { $0.give(Array("GET /".utf8)) }
        #expect(result.calls == ["invalid"])
        #expect(result.isClosing)
    }

    @Test func `the end of the stream within the header → closed`() async throws {
        let result = try await run {
            $0.give(Array(Self.header.prefix(9)))
            $0.end()
            $0.finish(.endOfStream)
        }
        #expect(result.calls == ["invalid"])
        #expect(result.isClosing)
    }

    @Test func `a valid header of a client that is not admitted → closed`() async throws {
        let result = try await run(starts: false) { $0.give(Self.header) }
        #expect(result.calls == [])
        #expect(result.isClosing)
    }
}
