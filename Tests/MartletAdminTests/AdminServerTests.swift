import Foundation
import MartletAdmin
import MartletRelay
import MartletToolTestSupport
import MartletTransport
import Testing

@Suite(.timeLimit(.minutes(10))) struct AdminServerTests {
    private static func relay() throws -> Relay {
        Relay(
            configuration: try .init(port: 0), store: InMemoryStore(), authenticator: .allowAll, policy: .allowAll)
    }

    #if os(Linux)
        /// An address whose ports no other test and no connection takes.
        private static let loopback = SocketAddress("127.78.0.4:0")!
    #else
        private static let loopback = SocketAddress("127.0.0.1:0")!
    #endif
    private static let exposed = SocketAddress("0.0.0.0:0")!

    private static func failure(_ configuration: AdminServer.Configuration) throws -> AdminError? {
        let server = AdminServer(try relay(), configuration: configuration)
        do { try server.start() } catch { return error }
        return nil
    }

    @Test func `a configuration that is not safe → the error that names it`() throws {
        var configuration = AdminServer.Configuration(addresses: [])
        #expect(try Self.failure(configuration) == .noAddresses)
        configuration.addresses = [Self.loopback]
        configuration.cardRooms = Array(repeating: "a", count: AdminServer.maxCardRoomCount + 1)
        #expect(try Self.failure(configuration) == .tooManyCardRooms)
        configuration.cardRooms = []
        configuration.addresses = [Self.loopback, Self.exposed]
        configuration.token = "0123456789abcdef"
        #expect(try Self.failure(configuration) == .plaintextNotAllowed(Self.exposed))
        configuration.tls = TLSServerOptions(identity: TestCertificates.shared.server)
        configuration.token = nil
        #expect(try Self.failure(configuration) == .credentialsRequired(Self.exposed))
        configuration.token = "short"
        #expect(try Self.failure(configuration) == .invalidToken)
        configuration.tls?.identity.certificateFile = "/nonexistent"
        configuration.token = "0123456789abcdef"
        guard case .invalidTLS = try Self.failure(configuration) else {
            Issue.record("a missing certificate is not reported")
            return
        }
    }

    @Test func `an address in use → cannotListen; after the shutdown of its port → a start`() async throws {
        let first = AdminServer(try Self.relay(), configuration: .init(addresses: [Self.loopback]))
        let addresses = try first.start()
        let second = AdminServer(try Self.relay(), configuration: .init(addresses: addresses))
        #expect(throws: AdminError.cannotListen(addresses[0], .addressInUse)) { try second.start() }
        #expect(throws: AdminError.alreadyStarted) { try first.start() }
        #expect(first.addresses == addresses)
        await first.shutdown()
        #expect(first.addresses == [])
        #expect(try second.start() == addresses)
        await second.shutdown()
        #expect(throws: AdminError.alreadyStarted) { try second.start() }
    }

    #if os(Linux)
        @Test func `a start that fails → no thread of the port`() async throws {
            let first = AdminServer(try Self.relay(), configuration: .init(addresses: [Self.loopback]))
            let addresses = try first.start()
            let second = AdminServer(try Self.relay(), configuration: .init(addresses: addresses))
            let threads = try Self.threadCount()
            for _ in 0..<100 { #expect(throws: AdminError.self) { try second.start() } }
            // Other tests start fewer ports meanwhile.
            #expect(try Self.threadCount() < threads + 100)
            await first.shutdown()
        }

        /// The number of threads of ports in this process.
        private static func threadCount() throws -> Int {
            try FileManager.default.contentsOfDirectory(atPath: "/proc/self/task").count { thread in
                (try? String(contentsOfFile: "/proc/self/task/\(thread)/comm", encoding: .utf8)) == "martlet-admin-0\n"
            }
        }
    #endif

    @Test func `reload without the only credential → refused, and with a token → accepted`() async throws {
        var configuration = AdminServer.Configuration(addresses: [Self.exposed])
        configuration.tls = TLSServerOptions(identity: TestCertificates.shared.server)
        configuration.token = "0123456789abcdef"
        let server = AdminServer(try Self.relay(), configuration: configuration)
        try server.start()
        #expect(throws: AdminError.credentialsRequired(Self.exposed)) { try server.reload(token: nil) }
        #expect(throws: AdminError.invalidToken) { try server.reload(token: "short") }
        try server.reload(token: "fedcba9876543210")
        await server.shutdown()
    }

    @Test func `the release of a port → its relay is released, and its address is free`() async throws {
        weak var released: Relay?
        let addresses: [SocketAddress]
        do {
            let relay = try Self.relay()
            released = relay
            let server = AdminServer(relay, configuration: .init(addresses: [Self.loopback]))
            addresses = try server.start()
        }
        // The first sample may be in progress, and retains the relay meanwhile.
        while !Task.isCancelled, released != nil { await Task.yield() }
        while !Task.isCancelled, (try? TCPListener.Socket(listeningOn: addresses[0])) == nil { await Task.yield() }
    }
}
