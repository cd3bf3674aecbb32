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
    @Test(arguments: ["martlets://chat.example.com", "chat.example.com", "chat.example.com:7227", "[::1]:7227"])
    func `an address with martlets:// or without a scheme throws tlsUnavailable`(endpoint: String) {
        #expect(failure(endpoint) == .tlsUnavailable)
    }

    @Test(arguments: ["", "http://chat.example.com", "martlet://", "martlet://host:99999", "martlet://host/room"])
    func `an invalid address throws invalidEndpoint`(endpoint: String) {
        #expect(failure(endpoint) == .invalidEndpoint(endpoint))
    }

    @Test func `an invalid account name, an invalid room name and a missing address throw`() async throws {
        #expect(failure("martlet://host", account: "") == .invalidName(""))
        let client = try Client(to: "martlet://host", as: .anonymous("alice"))
        await #expect(throws: MartletError.invalidName("a\nb")) { try await client.open(room: "a\nb") }
        await #expect(throws: MartletError.notStarted) { try await client.open(room: "lobby") }
        #expect(throws: MartletError.invalidEndpoint("")) { try Client(to: [], as: .anonymous("alice")) }
    }

    @Test func `a client that was not started has the status idle and counts no frames`() async throws {
        let client = try Client(to: "martlet://host", as: .anonymous("alice"))
        #expect(client.currentStatus.phase == .idle)
        #expect(client.currentStatus.explanation == "not started")
        #expect(await client.statistics.framesSent == 0)
    }
}
