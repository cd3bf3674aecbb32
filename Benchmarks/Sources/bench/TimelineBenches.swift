import BenchHarness
import CBaselines
import Foundation
import Martlet
import MartletTimeline

/// A timeline with 100,000 messages in 100 rooms, half of them in one: opening, pages, searches, and the application of
/// messages.
enum TimelineBenches {
    private static let messageCount = 100_000
    private static let roomCount = 100
    private static let account = AccountName("bench")
    private static let log = LogID(rawValue: 1)

    static func cases() -> [Case] {
        let size = "with 100,000 messages"
        return [
            Case("timeline/open \(size)", per: "opening", [Subject("with the last page") { try open() }]),
            Case(
                "timeline/query \(size)", per: "query",
                [
                    Subject("last page") { try query { _ = try await $0.page(of: "room 0") } },
                    Subject("page in the middle") { try query(page) },
                    Subject("rare word, all rooms") { try query { _ = try await $0.search("needle") } },
                    Subject("frequent word, all rooms") { try query { _ = try await $0.search("haystack") } },
                    Subject("frequent word, a small room") {
                        try query { _ = try await $0.search("haystack", in: "room 1") }
                    },
                    Subject("start of a word") { try query { _ = try await $0.search("hay") } },
                    Subject("five searches: scripts without spaces, an emoji, a symbol") {
                        try query { timeline in
                            for text in ["天气", "タワー", "พรุ่งนี้", "👍", "C++"] { _ = try await timeline.search(text) }
                        }
                    },
                    Subject("list of rooms") { try query { _ = try await $0.rooms() } },
                ]),
            Case("timeline/apply \(size)", per: "message", [Subject("100 at once") { try apply() }]),
        ]
    }

    // MARK: Trials

    private static func open() throws -> Sample {
        let folder = try filled()
        let resident = residentByteCount()
        return try wait {
            let start = measure_now()
            let timeline = try await Timeline(path: folder.file, account: account)
            _ = try await timeline.page(of: "room 0")
            let nanoseconds = measure_now() - start
            let growth = Double(residentByteCount() - resident) / Double(1 << 20)
            await timeline.close()
            return ["milliseconds": Double(nanoseconds) / 1e6, "growth": growth]
        }
    }

    /// The median duration of a query, and the longest one.
    private static func query(_ body: @escaping @Sendable (Timeline) async throws -> Void) throws -> Sample {
        let folder = try filled()
        return try wait {
            let timeline = try await Timeline(path: folder.file, account: account)
            var durations: [UInt64] = []
            for _ in 0..<51 {
                let start = measure_now()
                try await body(timeline)
                durations.append(measure_now() - start)
            }
            await timeline.close()
            durations.sort()
            return ["milliseconds": Double(durations[25]) / 1e6, "longest": Double(durations[50]) / 1e6]
        }
    }

    private static let page: @Sendable (Timeline) async throws -> Void = { timeline in
        let id = MessageID(sender: AccountName("ada"), device: DeviceID(rawValue: 1), counter: 25_000)
        guard let entry = try await timeline.entry(id, in: "room 0") else { return }
        _ = try await timeline.page(of: "room 0", before: entry.position)
    }

    private static func apply() throws -> Sample {
        let folder = Folder()
        return try wait {
            let timeline = try await Timeline(path: folder.file, account: account)
            let start = measure_now()
            for batch in 0..<100 as Range<UInt64> {
                try await timeline.apply((1...100).map { message(100 * batch + $0) }, in: "room 0")
            }
            let nanoseconds = measure_now() - start
            await timeline.close()
            return ["perSecond": 10_000 / (Double(nanoseconds) / 1e9)]
        }
    }

    // MARK: Contents

    /// The file is written once, and outlives a trial.
    private nonisolated(unsafe) static var history: Folder?

    private static func filled() throws -> Folder {
        if let folder = unsafe history { return folder }
        let folder = Folder()
        try wait {
            let timeline = try await Timeline(path: folder.file, account: account)
            let perRoom = messageCount / 2 / (roomCount - 1)
            for room in 0..<roomCount {
                let count = room == 0 ? messageCount - perRoom * (roomCount - 1) : perRoom
                for first in stride(from: 1, through: count, by: 1000) {
                    let items = (first...min(first + 999, count)).map { message(UInt64($0)) }
                    try await timeline.apply(items, in: RoomName("room \(room)")!)
                }
            }
            await timeline.close()
        }
        unsafe history = folder
        return folder
    }

    private static let rareTexts = [
        "needle", "今天天气很好我们去公园", "東京タワーに行きました", "สวัสดีพรุ่งนี้เจอกัน", "great👍", "C++ code",
    ]

    private static func message(_ number: UInt64) -> RoomItem {
        let place = Int(number % 10_000)
        let rare = place < rareTexts.count ? " \(rareTexts[place])" : ""
        return .message(
            RoomMessage(
                id: MessageID(sender: AccountName("ada"), device: DeviceID(rawValue: 1), counter: number),
                at: RoomCursor(log: log, offset: number),
                content: MessageContent(text: "message \(number) in the haystack\(rare), of about sixty-four bytes"),
                acceptedAt: 1_700_000_000_000 + number))
    }

    private final class Folder: Sendable {
        private let path = FileManager.default.temporaryDirectory.appending(path: "martlet-bench-\(UUID().uuidString)")
        var file: String { path.appending(path: "timeline").path }

        init() {
            try? FileManager.default.createDirectory(at: path, withIntermediateDirectories: true)
        }

        deinit {
            try? FileManager.default.removeItem(at: path)
        }
    }
}
