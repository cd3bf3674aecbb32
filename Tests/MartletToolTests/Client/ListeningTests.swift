import Foundation
import Martlet
import MartletRelay
import MartletWire
import Testing

@testable import MartletTool
@testable import MartletToolSupport

@Suite(.timeLimit(.minutes(10))) struct ListeningTests {
    @Test func `an offset beyond the last message is not a lost log and new messages are written`() async throws {
        let relay = Relay(
            configuration: try Relay.Configuration(port: 0), store: InMemoryStore(), authenticator: .allowAll,
            policy: .allowAll)
        let address = try #require(try relay.start().first)
        let endpoint = "martlet://\(address)"
        do {
            let report = try await withClient(try Client(to: endpoint, as: .anonymous("ada"))) { ada in
                let lobby = try await ada.open(room: "lobby")
                for number in 1...5 { _ = try await lobby.send("\(number)").accepted() }
                // The listener ends with the first message after its start.
                let talk = Task { while !Task.isCancelled { _ = try await lobby.send("later").accepted() } }
                defer { talk.cancel() }
                return try await listen(at: endpoint, from: .cursor(1_000_000), count: 1)
            }
            #expect(report.received == 1)
            #expect(report.replacedLogs == 0)
        } catch {
            await relay.shutdown()
            throw error
        }
        await relay.shutdown()
    }

    private func listen(
        at endpoint: String, from begin: ListenCommand.Begin, count: Int
    ) async throws -> TransferReport {
        let monitor = TransferMonitor(.none)
        let null = try #require(FileHandle(forWritingAtPath: "/dev/null"))
        return try await withClient(try Client(to: endpoint, as: .anonymous("bob"))) { bob in
            let output = LineOutput(to: null.fileDescriptor, cursorFile: nil)
            let listening = Listening(begin: StartingPoint(begin), count: count)
            try await listening.run(bob, "lobby", output, monitor)
            return await monitor.finish(bob)
        }
    }
}
