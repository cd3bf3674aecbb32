import BenchHarness
import CBaselines
import Foundation
import Martlet
import MartletLink
import MartletRelay
import MartletRelaySQLite
import MartletWire

/// The relay's store on the disk: synced appends without a relay, and the start with a long history. Each figure is
/// beside the duration of fdatasync at the time.
enum StoreBenches {
    static func cases(_ options: Options) -> [Case] {
        [
            Case(
                "store/append", per: "message",
                [
                    Subject("1 message a row, 1 room") { try append(rooms: 1, messages: 1, options) },
                    Subject("1 message a row, 100 rooms") { try append(rooms: 100, messages: 1, options) },
                    Subject("100 messages a row, 100 rooms") { try append(rooms: 100, messages: 100, options) },
                ]),
            Case(
                "store/start with 10,000 rooms", per: "start",
                [
                    Subject("1,000,000 messages") { try start(messagesPerRoom: 100) },
                    Subject("10,000 messages") { try start(messagesPerRoom: 1) },
                ]),
            Case(
                "store/martlet serve with 10,000 rooms", per: "start",
                [
                    Subject("1,000,000 messages") { try serve(messagesPerRoom: 100, options) },
                    Subject("10,000 messages") { try serve(messagesPerRoom: 1, options) },
                ]),
        ]
    }

    private static func append(rooms: Int, messages: Int, _ options: Options) throws -> Sample {
        let folder = Folder()
        let sync = try DiskTrial.run()
        let (count, seconds) = try wait {
            let store = try await SQLiteStore(at: folder.path)
            let start = measure_now()
            let end = start + UInt64(options.seconds * 1e9)
            let count = try await withThrowingTaskGroup(of: Int.self) { group in
                for number in 0..<rooms {
                    group.addTask {
                        let room = RoomName("room-\(number)")!
                        var next = try await store.load(room).lastOffset + 1
                        while measure_now() < end {
                            _ = try await store.append(entries(next, messages), to: room)
                            next += UInt64(messages)
                        }
                        return Int(next - 1)
                    }
                }
                return try await group.reduce(0, +)
            }
            let seconds = Double(measure_now() - start) / 1e9
            await store.close()
            return (count, seconds)
        }
        return sync.merging(["perSecond": Double(count) / seconds]) { $1 }
    }

    /// The histories are written once, and outlive the trials.
    private nonisolated(unsafe) static var histories: [Int: Folder] = [:]

    private static func history(messagesPerRoom: Int) throws -> Folder {
        if let folder = unsafe histories[messagesPerRoom] { return folder }
        let folder = Folder()
        try wait { try await fill(folder, messagesPerRoom) }
        unsafe histories[messagesPerRoom] = folder
        return folder
    }

    /// Opens the store, and loads a room and reads its last messages.
    private static func start(messagesPerRoom: Int) throws -> Sample {
        let folder = try history(messagesPerRoom: messagesPerRoom)
        let sync = try DiskTrial.run()
        let resident = residentByteCount()
        let start = measure_now()
        let nanoseconds = try wait {
            let store = try await SQLiteStore(at: folder.path)
            let room = RoomName("room-9999")
            let snapshot = try await store.load(room)
            let range = ReadRange(
                from: snapshot.lastOffset - min(snapshot.lastOffset, 20), maxCount: 20, maxByteCount: .max)
            _ = try await store.read(range, of: room)
            let nanoseconds = measure_now() - start
            await store.close()
            return nanoseconds
        }
        let growth = Double(residentByteCount() - resident) / Double(1 << 20)
        return sync.merging(["milliseconds": Double(nanoseconds) / 1e6, "growth": growth]) { $1 }
    }

    /// Starts the server, until a client has opened a room with its offsets, and the server's memory then.
    private static func serve(messagesPerRoom: Int, _ options: Options) throws -> Sample {
        let folder = try history(messagesPerRoom: messagesPerRoom)
        let sync = try DiskTrial.run()
        let start = measure_now()
        let server = try ServerProcess(.storedMartlet, options, store: folder.path)
        defer { server.stop() }
        let port = server.port
        let nanoseconds = try wait {
            let client = try Client(to: "martlet://127.0.0.1:\(port)", as: .anonymous("reader"))
            return try await withClient(client) { client in
                let room = try await client.open(room: "room-9999", options: Room.Options(from: .latest(count: 1)))
                let nanoseconds = measure_now() - start
                guard room.lastOffset == UInt64(messagesPerRoom) else {
                    throw Options.Failure(description: "the room has \(room.lastOffset) messages")
                }
                return nanoseconds
            }
        }
        let resident = Double(server.residentByteCount) / Double(1 << 20)
        return sync.merging(["milliseconds": Double(nanoseconds) / 1e6, "residentMiB": resident]) { $1 }
    }

    private static func fill(_ folder: Folder, _ messagesPerRoom: Int) async throws {
        let store = try await SQLiteStore(at: folder.path)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for worker in 0..<100 {
                group.addTask {
                    for number in 0..<100 {
                        let room = RoomName("room-\(worker * 100 + number)")!
                        _ = try await store.load(room)
                        _ = try await store.append(entries(1, messagesPerRoom), to: room)
                    }
                }
            }
            try await group.waitForAll()
        }
        await store.close()
    }

    private static func entries(_ first: UInt64, _ count: Int) -> [LogEntry] {
        let body = Message.encodeClient(
            counter: first, kind: .text, content: Message.textContent(String(repeating: "m", count: 64)))
        return (0..<UInt64(count)).map {
            LogEntry(
                offset: first + $0, sender: AccountName("bench"), device: DeviceID(rawValue: 1), counter: first + $0,
                acceptedAt: 1_700_000_000_000, body: EncodedBody(body))
        }
    }

    private final class Folder: Sendable {
        let path = FileManager.default.temporaryDirectory.appending(path: "martlet-bench-\(UUID().uuidString)").path

        deinit {
            try? FileManager.default.removeItem(atPath: path)
        }
    }
}
