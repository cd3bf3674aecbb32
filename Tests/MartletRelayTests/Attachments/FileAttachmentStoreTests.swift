import Foundation
import MartletAuthentication
import MartletLink
import MartletTransport
import MartletWire
import Testing

@testable import MartletRelay

func attachmentContent(_ byteCount: Int, seed: UInt64 = 1) -> [UInt8] {
    var random = SeededRandom(seed: seed)
    return (0..<byteCount).map { _ in UInt8(truncatingIfNeeded: random.next()) }
}

func attachmentKey(_ content: [UInt8], room: String = "lobby", account: String = "alice") -> AttachmentKey {
    let stream = DigestStream()
    stream.add(content)
    return AttachmentKey(
        room: RoomName(room)!, account: AccountName(account)!, digest: AttachmentDigest(stream.finish())!)
}

/// A wall clock and a steady clock, in milliseconds.
private final class TestClocks: Sendable {
    let wall = Guarded(UInt64(1_000_000_000))
    private let steady = Guarded(UInt64(0))
    private let start = ContinuousClock.now

    func advance(_ time: UInt64) {
        wall.withLock { $0 += time }
        steady.withLock { $0 += time }
    }

    func store(_ folder: String) throws -> FileAttachmentStore {
        try FileAttachmentStore(
            directory: folder, clock: { self.wall.withLock { $0 } },
            steady: { self.start.advanced(by: .milliseconds(self.steady.withLock { $0 })) })
    }
}

@Suite struct FileAttachmentStoreTests {
    /// A folder that is removed afterwards.
    func withFolder(_ body: (String) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("martlet-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try await body(folder)
    }

    /// A store whose clocks both show a time in milliseconds.
    func store(_ folder: String, _ now: @escaping @Sendable () -> UInt64) throws -> FileAttachmentStore {
        let start = ContinuousClock.now
        return try FileAttachmentStore(
            directory: folder, clock: now, steady: { start.advanced(by: .milliseconds(now())) })
    }

    func files(_ folder: String) -> [String] {
        (FileManager.default.enumerator(atPath: folder)?.compactMap { $0 as? String } ?? [])
            .filter { $0.contains("/") }.sorted()
    }

    //
    @Test func `an upload is continued by another process at the position that was answered`() async throws {
        try await withFolder { folder in
            let content = attachmentContent(100_000)
            let key = attachmentKey(content)
            do {
                let store = try FileAttachmentStore(directory: folder)
                #expect(try await store.begin(key, byteCount: 100_000, mediaType: "a/b") == 0)
                let first = try await store.write([Array(content[..<30_000])], at: 0, of: key)
                #expect(first.position == 30_000 && first.byteCount == 100_000)
                _ = try await store.write(
                    [Array(content[30_000..<40_000]), Array(content[40_000..<50_000])], at: 30_000, of: key)
            }
            let store = try FileAttachmentStore(directory: folder)
            #expect(try await store.begin(key, byteCount: 100_000, mediaType: "a/b") == 50_000)
            await #expect(throws: AttachmentFailure.unknown) { try await store.info(key.digest, in: key.room) }
            let last = try await store.write([Array(content[50_000...])], at: 50_000, of: key)
            #expect(last.position == 100_000)
            let read = try await store.read(key.digest, in: key.room, at: 12_345, length: 5000)
            #expect(read.bytes == Array(content[12_345..<17_345]) && read.byteCount == 100_000)
            #expect(try await store.info(key.digest, in: key.room).mediaType == "a/b")
            #expect(files(folder).count == 1)
            #expect(try await store.begin(key, byteCount: 100_000, mediaType: nil) == 100_000)
        }
    }

    //
    @Test func `bytes of a batch that a loss of power has damaged do not count`() async throws {
        try await withFolder { folder in
            let content = attachmentContent(60_000)
            let key = attachmentKey(content)
            do {
                let store = try FileAttachmentStore(directory: folder)
                _ = try await store.begin(key, byteCount: 60_000, mediaType: nil)
                _ = try await store.write([Array(content[..<20_000])], at: 0, of: key)
                _ = try await store.write([Array(content[20_000..<40_000])], at: 20_000, of: key)
            }
            // The slot was written and a part of its batch was not.
            let path = "\(folder)/\(files(folder)[0])"
            let file = try RegularFile(path, .write)
            try file.write([UInt8](repeating: 0, count: 512), at: AttachmentFile.headByteCount + 33_000)
            let store = try FileAttachmentStore(directory: folder)
            #expect(try await store.begin(key, byteCount: 60_000, mediaType: nil) == 20_000)
            _ = try await store.write([Array(content[20_000...])], at: 20_000, of: key)
            #expect(
                try await store.read(key.digest, in: key.room, at: 33_000, length: 9).bytes
                    == Array(content[33_000..<33_009]))
        }
    }

    //
    @Test func `every point at which the writing of a batch stops leaves the batch or the one before`() async throws {
        try await withFolder { folder in
            let content = attachmentContent(3000)
            let key = attachmentKey(content)
            do {
                let store = try FileAttachmentStore(directory: folder)
                _ = try await store.begin(key, byteCount: 3000, mediaType: nil)
                _ = try await store.write([Array(content[..<1000])], at: 0, of: key)
            }
            let path = "\(folder)/\(files(folder)[0])"
            let before = try Data(contentsOf: URL(fileURLWithPath: path))
            do {
                let store = try FileAttachmentStore(directory: folder)
                _ = try await store.begin(key, byteCount: 3000, mediaType: nil)
                _ = try await store.write([Array(content[1000..<2000])], at: 1000, of: key)
            }
            let after = try Data(contentsOf: URL(fileURLWithPath: path))
            // Blocks of the second state over the first one, in all combinations of data and slots.
            let blocks = [0..<1024, 1024..<2048, 2048..<4096, 4096..<5600, 5600..<after.count]
            for mask in 0..<32 {
                var mixed = before + Data(count: after.count - before.count)
                for (index, block) in blocks.enumerated() where mask & 1 << index != 0 {
                    mixed.replaceSubrange(block, with: after[block])
                }
                try mixed.write(to: URL(fileURLWithPath: path))
                let store = try FileAttachmentStore(directory: folder)
                let position = try await store.begin(key, byteCount: 3000, mediaType: nil)
                #expect(position == 1000 || position == 2000, "\(mask)")
                _ = try await store.write([Array(content[Int(position)...])], at: position, of: key)
                #expect(try await store.read(key.digest, in: key.room, at: 0, length: 3000).bytes == content, "\(mask)")
                try FileManager.default.removeItem(atPath: "\(folder)/\(files(folder)[0])")
            }
        }
    }

    //
    @Test func `a complete attachment with a damaged or missing file -> begun again at 0, and read after the upload`()
        async throws
    {
        try await withFolder { folder in
            let content = attachmentContent(2000)
            let key = attachmentKey(content)
            let store = try FileAttachmentStore(directory: folder)
            _ = try await store.begin(key, byteCount: 2000, mediaType: nil)
            _ = try await store.write([Array(content[..<1000])], at: 0, of: key)
            _ = try await store.write([Array(content[1000...])], at: 1000, of: key)
            let damages: [UInt64?] = [AttachmentFile.headByteCount + 1500, 12, nil]
            for position in damages {
                // The store keeps the file open for further reads.
                _ = try await store.read(key.digest, in: key.room, at: 0, length: 2000)
                let path = "\(folder)/\(files(folder)[0])"
                if let position {
                    try RegularFile(path, .write).write([9, 9, 9, 9], at: position)
                } else {
                    try Folder.removeFile(path)
                }
                #expect(try await store.begin(key, byteCount: 2000, mediaType: nil) == 0)
                _ = try await store.write([content], at: 0, of: key)
                let read = try await store.read(key.digest, in: key.room, at: 0, length: 2000)
                #expect(read.bytes == content)
                #expect(files(folder).count == 1)
            }
        }
    }

    //
    @Test func `bytes that do not have the digest are discarded with their file`() async throws {
        try await withFolder { folder in
            let store = try FileAttachmentStore(directory: folder)
            let key = attachmentKey(attachmentContent(1000))
            _ = try await store.begin(key, byteCount: 1000, mediaType: nil)
            await #expect(throws: AttachmentFailure.digestMismatch) {
                try await store.write([attachmentContent(1000, seed: 2)], at: 0, of: key)
            }
            #expect(files(folder) == [])
            await #expect(throws: AttachmentFailure.unknown) { try await store.write([[1]], at: 0, of: key) }
        }
    }

    //
    @Test func `an upload whose process ended before the verification is verified when it is begun again`() async throws
    {
        try await withFolder { folder in
            let (content, other) = (attachmentContent(5000), attachmentContent(5000, seed: 2))
            for (bytes, key) in [(content, attachmentKey(content)), (content, attachmentKey(other))] {
                let head = AttachmentFile.Head(
                    room: key.room, account: key.account, digest: key.digest, byteCount: 5000, mediaType: nil)
                let place = AttachmentFolder(path: folder)
                try Folder.create(folder)
                try place.create(for: key.room)
                var file = try AttachmentFile(creating: place.file(key.incompleteName), head, time: EventLoop.wallClock)
                try file.append([bytes], time: EventLoop.wallClock)
            }
            let store = try FileAttachmentStore(directory: folder)
            #expect(try await store.begin(attachmentKey(content), byteCount: 5000, mediaType: nil) == 5000)
            let read = try await store.read(attachmentKey(content).digest, in: RoomName("lobby"), at: 0, length: 5000)
            #expect(read.bytes == content)
            await #expect(throws: AttachmentFailure.digestMismatch) {
                try await store.begin(attachmentKey(other), byteCount: 5000, mediaType: nil)
            }
        }
    }

    //
    @Test func `a begin with another length → digestMismatch if it is complete, and anew if it is not`() async throws {
        try await withFolder { folder in
            let content = attachmentContent(1000)
            let key = attachmentKey(content)
            for store: any AttachmentStore in [
                try FileAttachmentStore(directory: folder), InMemoryAttachmentStore(),
            ] {
                #expect(try await store.begin(key, byteCount: 2000, mediaType: nil) == 0)
                #expect(try await store.write([Array(content[..<300])], at: 0, of: key).position == 300)
                #expect(try await store.begin(key, byteCount: 1000, mediaType: nil) == 0)
                _ = try await store.write([content], at: 0, of: key)
                await #expect(throws: AttachmentFailure.digestMismatch) {
                    try await store.begin(key, byteCount: 999, mediaType: nil)
                }
            }
        }
    }

    @Test(arguments: [1, 1 << 62, 1 << 63, .max - 1, .max] as [UInt64])
    func `a slot with a high number → each later slot is written, or the file is not valid`(number: UInt64) async throws
    {
        try await withFolder { folder in
            let key = attachmentKey([7])
            let head = AttachmentFile.Head(
                room: key.room, account: key.account, digest: key.digest, byteCount: 9, mediaType: nil)
            let path = "\(folder)-file"
            defer { try? FileManager.default.removeItem(atPath: path) }
            do {
                let created = try AttachmentFile(creating: path, head, time: 1)
                let slot = AttachmentFile.Slot(number: number, position: 0, batchStart: 0, checksum: 0, time: 1)
                for offset in [1024, 2048] { try created.file.write(AttachmentFile.encoded(slot), at: UInt64(offset)) }
            }
            guard var file = try AttachmentFile(opening: path, isRecovered: true) else { return }
            for _ in 0..<4 { try file.touch(time: 2, owner: key.account) }
            #expect(file.slot.number > number)
        }
    }

    @Test func `a folder is used by one object at a time`() async throws {
        try await withFolder { folder in
            let store = try FileAttachmentStore(directory: folder)
            #expect(throws: AttachmentStoreError.inUse(path: folder)) { try FileAttachmentStore(directory: folder) }
            withExtendedLifetime(store) {}
        }
        #expect(throws: AttachmentStoreError.self) { try FileAttachmentStore(directory: "/does/not/exist") }
    }

    @Test func `files with a damaged head are set aside or removed`() async throws {
        try await withFolder { folder in
            let content = attachmentContent(1000)
            let key = attachmentKey(content)
            do {
                let store = try FileAttachmentStore(directory: folder)
                _ = try await store.begin(key, byteCount: 1000, mediaType: nil)
                _ = try await store.write([content], at: 0, of: key)
            }
            let name = files(folder)[0]
            try RegularFile("\(folder)/\(name)", .write).write([9, 9], at: 12)
            let store = try FileAttachmentStore(directory: folder)
            await #expect(throws: AttachmentFailure.unknown) { try await store.info(key.digest, in: key.room) }
            #expect(files(folder) == [name + ".damaged"])
        }
    }

    //
    @Test func `a file whose head or slots have any numbers → the folder is opened, and the file is set aside`()
        async throws
    {
        let numbers: [UInt64] = [0, 1, 1 << 31, 1 << 44, 1 << 63 - 1, 1 << 63, .max]
        for byteCount in numbers {
            for (number, position, batchStart) in [(1, byteCount, 0), (.max, 4, 4), (5, byteCount, byteCount)]
                as [(UInt64, UInt64, UInt64)]
            {
                try await withFolder { folder in
                    let key = attachmentKey([7])
                    let place = AttachmentFolder(path: folder)
                    try Folder.create(folder)
                    try place.create(for: key.room)
                    let head = AttachmentFile.Head(
                        room: key.room, account: key.account, digest: key.digest, byteCount: byteCount, mediaType: nil)
                    let slot = AttachmentFile.Slot(
                        number: number, position: position, batchStart: batchStart, checksum: 0, time: .max)
                    for name in [key.completeName, key.incompleteName] {
                        let file = try AttachmentFile(creating: place.file(name), head, time: .max)
                        try file.file.write(AttachmentFile.encoded(slot), at: 1024)
                    }
                    let store = try FileAttachmentStore(directory: folder)
                    _ = try await store.removeExpired()
                    for account in ["alice", "bob"] {
                        let key = attachmentKey([7], account: account)
                        guard (try? await store.begin(key, byteCount: 1, mediaType: nil)) == 0 else { continue }
                        _ = try? await store.write([[7]], at: 0, of: key)
                    }
                    _ = try? await store.read(key.digest, in: key.room, at: .max, length: 15_360)
                    _ = try? await store.read(key.digest, in: key.room, at: 0, length: 15_360)
                    for file in try AttachmentArchive(directory: folder).files() {
                        _ = try AttachmentArchive(directory: folder).verify(file)
                    }
                }
            }
        }
    }

    // R-164, Specs/hostile.md row 98
    @Test func `damaged files → at most 16 are kept, and they count against the bound of all attachments`() async throws
    {
        try await withFolder { folder in
            var limits = AttachmentLimits()
            limits.maxTotalByteCount = 16 * 4097 + 10
            let place = AttachmentFolder(path: folder)
            try Folder.create(folder)
            for number in 0..<20 {
                let key = attachmentKey([UInt8(number)])
                try place.create(for: key.room)
                try RegularFile(place.file(key.completeName), .write).write([1], at: 4096)
            }
            let store = try FileAttachmentStore(directory: folder, limits: limits)
            #expect(files(folder).count == AttachmentFolder.maxDamagedCount)
            #expect(files(folder).allSatisfy { $0.hasSuffix(AttachmentFolder.damagedSuffix) })
            await #expect(throws: AttachmentFailure.full) {
                try await store.begin(attachmentKey([1]), byteCount: 11, mediaType: nil)
            }
            #expect(try await store.begin(attachmentKey([1]), byteCount: 10, mediaType: nil) == 0)
        }
    }

    //
    @Test func `bytes that would use the reserve of the disk are refused until there is room`() async throws {
        try await withFolder { folder in
            let free = Guarded(UInt64(10_000))
            let disk = DiskSpace(reserve: 4000) { (free.withLock { $0 }, 100_000) }
            let store = try FileAttachmentStore(directory: folder, disk: disk)
            let content = attachmentContent(5000)
            let key = attachmentKey(content)
            await #expect(throws: AttachmentFailure.full) {
                try await store.begin(attachmentKey([1]), byteCount: 6001, mediaType: nil)
            }
            #expect(try await store.begin(key, byteCount: 5000, mediaType: nil) == 0)
            _ = try await store.write([Array(content[..<2000])], at: 0, of: key)
            free.withLock { $0 = 4500 }
            await #expect(throws: AttachmentFailure.full) {
                try await store.write([Array(content[2000...])], at: 2000, of: key)
            }
            free.withLock { $0 = 9000 }
            #expect(try await store.write([Array(content[2000...])], at: 2000, of: key).position == 5000)
        }
    }

    //
    @Test func `expired attachments are removed, incomplete ones sooner`() async throws {
        try await withFolder { folder in
            let now = Guarded(UInt64(1_000_000_000))
            let store = try store(folder) { now.withLock { $0 } }
            let (first, second) = (attachmentContent(100), attachmentContent(100, seed: 2))
            _ = try await store.begin(attachmentKey(first), byteCount: 100, mediaType: nil)
            _ = try await store.write([first], at: 0, of: attachmentKey(first))
            _ = try await store.begin(attachmentKey(second), byteCount: 100, mediaType: nil)
            now.withLock { $0 += 25 * 3600 * 1000 }
            #expect(try await !store.removeExpired())
            #expect(files(folder).count == 1)
            now.withLock { $0 += 20 * 24 * 3600 * 1000 }
            // The lifetime begins anew.
            #expect(try await store.begin(attachmentKey(first), byteCount: 100, mediaType: nil) == 100)
            now.withLock { $0 += 20 * 24 * 3600 * 1000 }
            #expect(try await !store.removeExpired())
            #expect(files(folder).count == 1)
            now.withLock { $0 += 11 * 24 * 3600 * 1000 }
            #expect(try await !store.removeExpired())
            #expect(files(folder) == [])
        }
    }

    //
    @Test func `an attachment that is sent again before a restart -> its lifetime begins anew`() async throws {
        try await withFolder { folder in
            let day: UInt64 = 24 * 3600 * 1000
            let now = Guarded(UInt64(1_000_000_000))
            let content = attachmentContent(100)
            do {
                let store = try store(folder) { now.withLock { $0 } }
                _ = try await store.begin(attachmentKey(content), byteCount: 100, mediaType: nil)
                _ = try await store.write([content], at: 0, of: attachmentKey(content))
                now.withLock { $0 += 20 * day }
                #expect(try await store.begin(attachmentKey(content), byteCount: 100, mediaType: nil) == 100)
            }
            let store = try store(folder) { now.withLock { $0 } }
            now.withLock { $0 += 20 * day }
            #expect(try await !store.removeExpired())
            #expect(files(folder).count == 1)
            now.withLock { $0 += 11 * day }
            #expect(try await !store.removeExpired())
            #expect(files(folder) == [])
        }
    }

    //
    @Test
    func `a wall clock that jumps ahead, before or after a restart → nothing expires, until both agree for a day`()
        async throws
    {
        try await withFolder { folder in
            let (minute, day): (UInt64, UInt64) = (60_000, 24 * 3600 * 1000)
            let clocks = TestClocks()
            let content = attachmentContent(100)
            do {
                let store = try clocks.store(folder)
                _ = try await store.begin(attachmentKey(content), byteCount: 100, mediaType: nil)
                _ = try await store.write([content], at: 0, of: attachmentKey(content))
                clocks.wall.withLock { $0 += 40 * day }
                for _ in 0..<10 {
                    _ = try await store.removeExpired()
                    clocks.advance(minute)
                }
                #expect(files(folder).count == 1)
            }
            let store = try clocks.store(folder)
            for _ in 0..<1439 {
                _ = try await store.removeExpired()
                clocks.advance(minute)
            }
            #expect(files(folder).count == 1)
            for _ in 0..<3 {
                clocks.advance(minute)
                _ = try await store.removeExpired()
            }
            #expect(files(folder) == [])
        }
    }

    //
    @Test func `a folder without a time, and a wall clock that has jumped ahead → nothing expires`() async throws {
        try await withFolder { folder in
            let clocks = TestClocks()
            let content = attachmentContent(100)
            do {
                let store = try clocks.store(folder)
                _ = try await store.begin(attachmentKey(content), byteCount: 100, mediaType: nil)
                _ = try await store.write([content], at: 0, of: attachmentKey(content))
            }
            // A backup has the attachments only, or the folder is of an earlier version.
            try Data().write(to: URL(fileURLWithPath: "\(folder)/lock"))
            clocks.wall.withLock { $0 += 40 * 24 * 3600 * 1000 }
            let store = try clocks.store(folder)
            for _ in 0..<10 {
                _ = try await store.removeExpired()
                clocks.advance(60_000)
            }
            #expect(files(folder).count == 1)
        }
    }

    //
    @Test func `the bounds count also after a restart`() async throws {
        try await withFolder { folder in
            var limits = AttachmentLimits()
            limits.maxByteCount = 1000
            limits.maxByteCountPerAccount = 1500
            limits.maxTotalByteCount = 2500
            do {
                let store = try FileAttachmentStore(directory: folder, limits: limits)
                for account in ["alice", "bob"] {
                    let key = attachmentKey([1], account: account)
                    _ = try await store.begin(key, byteCount: 900, mediaType: nil)
                    _ = try await store.write([[UInt8](repeating: 1, count: 899)], at: 0, of: key)
                }
            }
            let store = try FileAttachmentStore(directory: folder, limits: limits)
            func begin(_ byteCount: UInt64, _ account: String) async throws {
                _ = try await store.begin(
                    attachmentKey([2], account: account), byteCount: byteCount, mediaType: nil)
            }
            await #expect(throws: AttachmentFailure.tooLarge) { try await begin(1001, "carol") }
            await #expect(throws: AttachmentFailure.quota) { try await begin(601, "alice") }
            await #expect(throws: AttachmentFailure.full) { try await begin(703, "carol") }
            try await begin(600, "alice")
            try await store.remove(attachmentKey([1], account: "bob"))
            try await begin(900, "carol")
        }
    }
}
