import Foundation
import Martlet
import MartletLink
import MartletRelay
import MartletWire
import Testing

@testable import MartletDatabase
@testable import MartletRelaySQLite
@testable import MartletSQLite
@testable import MartletTimeline

/// Bytes of a file are damaged at each position in turn. The file is then opened, or set aside.
@Suite("Damage at each position of a file", .timeLimit(.minutes(10)))
struct DamagedPositionTests {
    private static let byteCount = 3000

    private let folder: String
    private let alice = AccountName("alice")

    init() throws {
        let url = FileManager.default.temporaryDirectory.appendingPathComponent("martlet-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
        folder = url.path
    }

    /// Damages a file at each position: by random bytes, or by one byte. Calls `open` for each damaged file in an
    /// otherwise empty folder, which is removed in the end.
    private func damage(_ name: String, by byte: UInt8?, distance: Int = 2048, _ open: () async throws -> Void)
        async throws
    {
        let path = "\(folder)/\(name)"
        let whole = try Data(contentsOf: URL(fileURLWithPath: path))
        #expect(whole.count > 15 * 4096)
        for position in stride(from: 0, to: whole.count - Self.byteCount, by: distance) {
            var random = SeededRandom(seed: UInt64(position))
            let garbage = (0..<Self.byteCount).map { _ in byte ?? UInt8(truncatingIfNeeded: random.next()) }
            var damaged = whole
            damaged.replaceSubrange(position..<position + garbage.count, with: garbage)
            for name in try FileManager.default.contentsOfDirectory(atPath: folder) {
                try FileManager.default.removeItem(atPath: "\(folder)/\(name)")
            }
            try damaged.write(to: URL(fileURLWithPath: path))
            do { try await open() } catch { Issue.record("position \(position): \(error)") }
        }
        try FileManager.default.removeItem(atPath: folder)
    }

    // MARK: A store

    private func entries(_ text: String) throws -> [LogEntry] {
        let id = MessageReference(MessageID(sender: alice, device: DeviceID(rawValue: 1), counter: 1))
        let contents = try [MessageContent(text: text), MessageBody.edit(of: id, text: "new").content]
        return contents.enumerated().map { index, content in
            let counter = UInt64(index + 1)
            let body = Message.encodeRelay(
                offset: counter, acceptedAt: 1000, sender: alice, device: DeviceID(rawValue: 1),
                clientBody: Message(counter: counter, content: content).encode().rawBytes)
            return LogEntry(
                offset: counter, sender: alice, device: DeviceID(rawValue: 1), counter: counter, acceptedAt: 1000,
                body: EncodedBody(body))
        }
    }

    /// Fills all tables of a store with several pages.
    private func fillStore() async throws {
        try await SQLiteStore(at: folder).close()
        let writer = try StoreFile(path: "\(folder)/rooms.sqlite") { 1000 }.writer
        let creation = RoomCreation(account: alice, maxRoomCount: 99)
        try writer.transaction {
            for number in 1...40 {
                let room = try #require(RoomName("\(number)" + String(repeating: "-", count: 110)))
                _ = try writer.load(room, at: 1000)
                _ = try writer.append(entries(String(repeating: "x", count: 900)), to: room)
                try writer.saveProgress([alice: AccountProgress(delivered: 2, read: 1)], of: room)
                try writer.saveRoles(RoomRoles().encoded(), of: room, creation: creation)
                let record = MembershipRecord(isJoined: true, inviter: nil, changedAt: 7)
                _ = try writer.saveMemberships([alice: record], of: room)
                try writer.importBranch(LogID(rawValue: UInt64(number)), of: room)
            }
        }
    }

    // R-70, Specs/hostile.md row 91
    @Test(arguments: [nil, 0] as [UInt8?])
    func `3,000 damaged bytes of a store → it is opened or set aside`(byte: UInt8?) async throws {
        try await fillStore()
        try await damage("rooms.sqlite", by: byte) {
            let store = try await SQLiteStore(at: folder)
            await store.close()
        }
    }

    // MARK: An outbox

    // C-81, C-104
    @Test(arguments: [nil, 0, 0xAA] as [UInt8?])
    func `3,000 damaged bytes of an outbox → it is opened or set aside, and stores messages`(
        byte: UInt8?
    ) async throws {
        let outbox = SQLiteOutbox(path: "\(folder)/outbox")
        let device = try await outbox.open().device
        try await outbox.claim(for: alice)
        func id(_ counter: UInt64) -> MessageID { MessageID(sender: alice, device: device, counter: counter) }
        var transaction = OutboxTransaction()
        for counter in 1...80 as ClosedRange<UInt64> {
            let content = MessageContent(text: String(repeating: "a", count: 500))
            transaction.appended.append(
                OutboxEntry(id: id(counter), room: "a", content: content, timeToLive: nil, expiresAt: nil))
            guard counter <= 40 else { continue }
            let result: OutboxOutcome.Result = counter < 9 ? .failed(.expired) : .accepted(offset: counter)
            transaction.outcomes.append(OutboxOutcome(id: id(counter), room: "a", result: result))
        }
        for number in 1...40 {
            transaction.cursors[try #require(RoomName("room \(number)"))] = RoomCursor(offset: 7)
        }
        try await outbox.commit(transaction)
        await outbox.close()
        try await damage("outbox", by: byte, distance: 1024) {
            let outbox = SQLiteOutbox(path: "\(folder)/outbox")
            let state = try await outbox.open()
            try await outbox.claim(for: alice)
            var transaction = OutboxTransaction()
            let id = MessageID(sender: alice, device: state.device, counter: state.nextCounter)
            transaction.appended = [
                OutboxEntry(id: id, room: "b", content: MessageContent(text: "b"), timeToLive: nil, expiresAt: nil)
            ]
            transaction.cursors["b"] = RoomCursor(offset: 7)
            try await outbox.commit(transaction)
            await outbox.close()
        }
    }

    // MARK: A timeline

    // C-104
    @Test(arguments: [nil, 0] as [UInt8?])
    func `3,000 damaged bytes of a timeline → it is opened or set aside`(byte: UInt8?) async throws {
        let path = "\(folder)/timeline"
        let timeline = try await Timeline(path: path, account: alice)
        func message(_ offset: UInt64, _ content: MessageContent) -> RoomItem {
            let id = MessageID(sender: alice, device: DeviceID(rawValue: 1), counter: offset)
            let cursor = RoomCursor(log: LogID(rawValue: 7), offset: offset)
            return .message(RoomMessage(id: id, at: cursor, content: content, acceptedAt: 1000))
        }
        for room in ["a", "b", "c"] as [RoomName] {
            var items = (1...40 as ClosedRange<UInt64>).map { offset in
                message(offset, MessageContent(text: String(repeating: "word\(offset) ", count: 40)))
            }
            let id = MessageID(sender: alice, device: DeviceID(rawValue: 1), counter: 1)
            items.append(message(41, try MessageBody.edit(of: MessageReference(id), text: "edited").content))
            try await timeline.apply(items, in: room)
        }
        await timeline.close()
        try await damage("timeline", by: byte) {
            // Damage that a read finds is recorded, and the next opening sets the file aside.
            for _ in 1...2 {
                let timeline = try await Timeline(path: path, account: alice)
                _ = try? await timeline.page(of: "a")
                _ = try? await timeline.rooms()
                await timeline.close()
            }
        }
    }
}
