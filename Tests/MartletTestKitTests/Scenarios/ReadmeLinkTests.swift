import MartletLink
import MartletTestKit
import MartletTransport
import Testing

@Suite("The links of the README")
struct ReadmeLinkTests {
    // snippet:begin
    /// The server: it takes files, and answers the messages of sessions of kind signaling.
    func serve(_ listener: LinkListener, take: @escaping @Sendable (String, [UInt8]) -> Void) async throws {
        try listener.start()
        await withDiscardingTaskGroup { links in
            for await link in listener.links {
                links.addTask { try? await serve(link, take: take) }
            }
        }
    }

    func serve(_ link: AcceptedLink, take: @escaping @Sendable (String, [UInt8]) -> Void) async throws {
        try await withThrowingDiscardingTaskGroup { sessions in
            for try await session in link.sessions {
                // The end of a session by a reset is not the end of the link.
                sessions.addTask { try? await serve(session, take: take) }
            }
        }
    }

    func serve(_ session: LinkSession, take: @Sendable (String, [UInt8]) -> Void) async throws {
        for try await message in session.messages {
            take(session.name, message)
            if session.kind == .signaling { try await session.send(message) }
        }
    }

    /// The client: it sends a file, and meanwhile a message that precedes the rest of the file.
    func send(_ file: [UInt8], by client: LinkClient) async throws -> Bool {
        let upload = try await client.open("picture.png", kind: .file)
        let calls = try await client.open("calls", kind: .signaling)
        async let sending: Void = {
            for start in stride(from: 0, to: file.count, by: 16_384) {
                try await upload.send(Array(file[start..<min(start + 16_384, file.count)]))
            }
            upload.close()
        }()
        try await calls.send(Array("ring".utf8))
        let answer = try await calls.messages.first { _ in true }
        try await sending
        await client.close()  // waits until the server has acknowledged all messages
        return answer == Array("ring".utf8)
    }
    // snippet:end

    @Test func `a file and a message arrive once, although the connection is cut`() throws {
        let world = TestWorld(seed: 1)
        let device = world.device("alice", conditions: PathConditions(bytesPerSecond: 100_000))
        let file = (0..<400_000).map { UInt8(truncatingIfNeeded: $0 * $0 >> 7) }
        let received = Received()
        try world.run {
            var configuration = LinkListener.Configuration(addresses: [SocketAddress("10.0.0.1:7300")!])
            configuration.allowsPlaintext = true
            let listener = LinkListener(configuration, on: world.makeServerLoop()) { Identity($0.account) }
            world.startTask { try? await serve(listener) { received.add($0, $1) } }
            var options = LinkClient.Configuration()
            options.allowsPlaintext = true
            let client = try LinkClient(
                to: "martlet://10.0.0.1:7300", as: "alice", configuration: options, on: device.makeLoop())
            world.startTask {
                for _ in 0..<3 {
                    try? await world.sleep(for: .seconds(1))
                    device.cut()
                }
            }
            #expect(try await send(file, by: client))
            await listener.close()
        }
        #expect(world.connectionCount == 4)
        #expect(received.bytes == ["picture.png": file, "calls": Array("ring".utf8)])
    }
}

/// The bytes of the sessions by name.
private final class Received: @unchecked Sendable {  // used by the thread that runs the world
    private(set) var bytes: [String: [UInt8]] = [:]

    func add(_ name: String, _ message: [UInt8]) { bytes[name, default: []] += message }
}
