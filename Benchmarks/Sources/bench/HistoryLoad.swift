import CBaselines
import Foundation
import Martlet

/// The load process of the pages of history in `ClientBenches`: a page at a random place of a room with 10,000
/// messages, one after another.
enum HistoryLoad {
    private static let messageCount = 10_000
    private static let pageCount = 50
    private static let text = String(repeating: "m", count: 64)

    static func run(_ options: Options) async throws {
        var configuration = Client.Configuration()
        configuration.watchesPath = false
        let client = try Client(
            to: "martlet://127.0.0.1:\(options.port ?? 7227)", as: .anonymous("bench"), configuration: configuration)
        try await withClient(client) { client in
            let room = try await client.open(room: "bench", options: .init(includesOwnMessages: false))
            for _ in 1..<messageCount { _ = try await room.send(text) }
            _ = try await room.send(text).accepted()
            for _ in 0..<100 { try await readPage(of: room) }
            say("begin")
            let start = measure_now()
            var durations: [Double] = []
            while Double(measure_now() - start) < options.seconds * 1e9 {
                let begin = measure_now()
                try await readPage(of: room)
                durations.append(Double(measure_now() - begin) / 1000)
            }
            let elapsed = Double(measure_now() - start) / 1e9
            say("end")
            durations.sort()
            say(
                """
                {"perSecond":\(Double(durations.count) / elapsed),"messages":\(durations.count),\
                "p50":\(durations[durations.count / 2]),"p99":\(durations[durations.count * 99 / 100]),\
                "samples":\(durations.count)}
                """)
        }
    }

    private static func readPage(of room: Room) async throws {
        let offset = UInt64.random(in: UInt64(pageCount) + 1...UInt64(messageCount))
        let page = try await room.messages(before: RoomCursor(offset: offset), limit: pageCount)
        precondition(page.messages.count == pageCount, "the page has \(page.messages.count) messages")
    }

    private static func say(_ line: String) {
        FileHandle.standardOutput.write(Data((line + "\n").utf8))
    }
}
