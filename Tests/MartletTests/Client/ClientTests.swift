import Martlet
import Testing

@Suite("A client's beginning")
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
    func `where TLS is asked for or meant it is said that there is none`(endpoint: String) {
        #expect(failure(endpoint) == .tlsUnavailable)
    }

    @Test(arguments: ["", "http://chat.example.com", "martlet://", "martlet://host:99999", "martlet://host/room"])
    func `what names no relay is refused`(endpoint: String) {
        #expect(failure(endpoint) == .invalidEndpoint(endpoint))
    }

    @Test func `an account's name is checked, and so is a room's`() async throws {
        #expect(failure("martlet://host", account: "") == .invalidName(""))
        let client = try Client(to: "martlet://host", as: .anonymous("alice"))
        await #expect(throws: MartletError.invalidName("a\nb")) { try await client.open(room: "a\nb") }
        await #expect(throws: MartletError.notStarted) { try await client.open(room: "lobby") }
        #expect(throws: MartletError.invalidEndpoint("")) { try Client(to: [], as: .anonymous("alice")) }
    }

    @Test func `before the start the status says so, and nothing has been counted`() async throws {
        let client = try Client(to: "martlet://host", as: .anonymous("alice"))
        #expect(client.currentStatus.phase == .idle)
        #expect(client.currentStatus.explanation == "not started")
        #expect(await client.statistics.framesSent == 0)
    }
}
