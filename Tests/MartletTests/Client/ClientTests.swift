import Martlet
import Testing

@Suite("Creation of a client")
struct ClientTests {
    private func failure(_ endpoint: String, account: String = "alice") -> MartletError? {
        do throws(MartletError) {
            _ = try Client(to: endpoint, as: .anonymous(account))
            return nil
        } catch {
            return error
        }
    }

    // W-1, Specs/hostile.md row 25
    @Test func `an address without TLS on another machine -> plaintextNotAllowed unless the client allows it`() throws {
        let endpoint = "martlet://chat.example.com"
        #expect(failure(endpoint) == .plaintextNotAllowed(endpoint))
        var configuration = Client.Configuration()
        configuration.allowsPlaintext = true
        _ = try Client(to: endpoint, as: .anonymous("alice"), configuration: configuration)
    }

    @Test(arguments: [
        "martlet://localhost", "martlet://127.0.0.1:7000", "martlet://[::1]", "martlets://chat.example.com",
        "chat.example.com:7227",
    ])
    func `an address of this machine or with TLS -> a client`(endpoint: String) {
        #expect(failure(endpoint) == nil)
    }

    @Test func `an invalid file of certificates -> invalidTLS, for an address with TLS only`() throws {
        var configuration = Client.Configuration()
        configuration.tls.trust = .file("/nonexistent")
        #expect(throws: MartletError.self) {
            try Client(to: "chat.example.com", as: .anonymous("alice"), configuration: configuration)
        }
        _ = try Client(to: "martlet://localhost", as: .anonymous("alice"), configuration: configuration)
    }

    @Test func `a configuration with a value out of its range -> invalidConfiguration, which names the value`() {
        func fault(_ change: (inout Client.Configuration) -> Void) -> MartletError? {
            var configuration = Client.Configuration()
            change(&configuration)
            do throws(MartletError) {
                _ = try Client(to: "martlet://localhost", as: .anonymous("alice"), configuration: configuration)
                return nil
            } catch {
                return error
            }
        }
        #expect(fault { $0.connectTimeout = .zero } == .invalidConfiguration("connectTimeout is not positive"))
        #expect(fault { $0.flushTimeout = .seconds(-1) } == .invalidConfiguration("flushTimeout is negative"))
        #expect(fault { $0.maxRooms = -1 } == .invalidConfiguration("maxRooms is -1, not at least 1"))
        #expect(fault { $0.maxPendingMessages = 0 } == .invalidConfiguration("maxPendingMessages is 0, not at least 1"))
        #expect(fault { $0.maxPendingByteCount = 0 } != nil)
        #expect(fault { $0.maxRequests = 0 } != nil)
        #expect(fault { $0.flushTimeout = .zero } == nil)
    }

    @Test func `a constant token of 4097 bytes -> invalidConfiguration, of 4096 -> a client`() throws {
        func client(tokenByteCount: Int) throws -> Client {
            let token = String(repeating: "x", count: tokenByteCount)
            return try Client(to: "localhost", as: .token(account: "alice", token))
        }
        _ = try client(tokenByteCount: 4096)
        let fault = "the credential has 4097 bytes; the limit is 4096"
        #expect(throws: MartletError.invalidConfiguration(fault)) { try client(tokenByteCount: 4097) }
    }

    @Test(arguments: ["", "not a host", "localhost:99"])
    func `a server name for TLS that is no host name -> invalidTLS`(name: String) {
        var configuration = Client.Configuration()
        configuration.tls.serverName = name
        #expect(throws: MartletError.invalidTLS(.invalidHost(name))) {
            try Client(to: "chat.example.com", as: .anonymous("alice"), configuration: configuration)
        }
    }

    @Test(arguments: ["", "http://chat.example.com", "martlet://", "martlet://host:99999", "martlet://host/room"])
    func `an invalid address -> invalidEndpoint`(endpoint: String) {
        #expect(failure(endpoint) == .invalidEndpoint(endpoint))
    }

    @Test func `an invalid account name, an invalid room name, no address -> errors`() async throws {
        #expect(failure("martlet://localhost", account: "") == .invalidName(""))
        let client = try Client(to: "martlet://localhost", as: .anonymous("alice"))
        await #expect(throws: MartletError.invalidName("a\nb")) { try await client.open(room: "a\nb") }
        await #expect(throws: MartletError.notStarted) { try await client.open(room: "lobby") }
        #expect(throws: MartletError.invalidEndpoint("")) { try Client(to: [], as: .anonymous("alice")) }
    }

    @Test func `a client that was not started -> status idle, no frames counted`() async throws {
        let client = try Client(to: "martlet://localhost", as: .anonymous("alice"))
        #expect(client.currentStatus.phase == .idle)
        #expect(client.currentStatus.explanation == "not started")
        #expect(await client.metrics["martlet_client_frames_sent"] == 0)
    }
}
