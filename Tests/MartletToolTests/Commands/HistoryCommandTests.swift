import Martlet
import MartletRelay
import MartletWire
import Testing

@testable import MartletTool

@Suite(.timeLimit(.minutes(10))) struct HistoryCommandTests {
    //
    @Test func `a number of messages that exceeds a page is read in several pages`() async throws {
        let relay = Relay(
            configuration: try Relay.Configuration(port: 0), store: InMemoryStore(), authenticator: .allowAll,
            policy: .allowAll)
        let address = try #require(try relay.start().first)
        do {
            try await withClient(try Client(to: "martlet://\(address)", as: .anonymous("ada"))) { ada in
                let lobby = try await ada.open(room: "lobby")
                for number in 1...500 { try await lobby.send("\(number)") }
                _ = try await lobby.send("501").accepted()
                func offsets(_ place: HistoryCommand.Place, _ limit: Int) async throws -> ([UInt64], UInt64?) {
                    let found = try await HistoryCommand.read(place, limit, in: lobby)
                    return (found.messages.map(\.offset), found.next?.offset)
                }
                #expect(try await offsets(.before(nil), 400) == (Array(102...501), 102))
                #expect(try await offsets(.before(3), 400) == ([1, 2], nil))
                #expect(try await offsets(.after(450), 400) == (Array(451...501), nil))
                #expect(try await offsets(.after(1), 300) == (Array(2...301), 301))
                #expect(try await offsets(.from(0), 300) == (Array(1...300), 300))
            }
        } catch {
            await relay.shutdown()
            throw error
        }
        await relay.shutdown()
    }
}
