import MartletAuthentication
import MartletLink
import MartletTransport
import MartletWire

@testable import MartletRelay

/// The attachments of a relay in files.
final class AttachmentStorage: Storage {
    /// An upload of an account, or what it has become.
    struct Upload {
        let key: AttachmentKey
        let content: [UInt8]
        /// The bytes that the store has acknowledged.
        var position = 0
        /// The bytes that failed calls may have left, until a write succeeds.
        var doubts: Set<Int> = []
        /// Whether the upload may be lost, because the store could not undo a failed write.
        var mayBeLost = false
        var isComplete = false

        /// Whether the store has a file of the upload.
        var hasBytes: Bool { isComplete || position > 0 }
    }

    struct Ledger {
        var uploads: [Upload] = []
        /// Whether the contents of files are unknown after damage.
        var isDamaged = false
    }

    static let name = "attachments"
    private static let rooms: [RoomName] = ["lobby", "attic"]
    private static let accounts: [AccountName] = ["alice", "bob"]

    var ledger = Ledger()
    private let folder: String
    private let clocks: SteppedClocks

    init(folder: String, clocks: SteppedClocks) {
        self.folder = "\(folder)/attachments"
        self.clocks = clocks
    }

    private func opened() throws -> FileAttachmentStore {
        let clocks = clocks
        return try FileAttachmentStore(
            directory: folder, disk: DiskSpace(reserve: 0) { nil }, clock: { clocks.wall }, steady: { clocks.steady })
    }

    // MARK: Use

    func use(_ random: inout SeededRandom, _ problems: Problems) async {
        do {
            let store = try opened()
            for _ in 0..<Int.random(in: 2...14, using: &random) where problems.texts.isEmpty {
                switch Int.random(in: 0..<10, using: &random) {
                case 0: clocks.step(&random)
                case 1: clocks.correct()
                default: break
                }
                clocks.advance(UInt64.random(in: 0...600_000, using: &random))
                await step(store, &random, problems)
            }
            await finish(store)
        } catch {
            problems.check(error, "the opening")
        }
    }

    /// The files are closed with the jobs of both threads done.
    private func finish(_ store: FileAttachmentStore) async {
        let none = Self.upload([1], "nowhere", "nobody").key
        try? await store.remove(none)
        _ = try? await store.read(none.digest, in: none.room, at: 0, length: 1)
    }

    private func step(_ store: FileAttachmentStore, _ random: inout SeededRandom, _ problems: Problems) async {
        switch Int.random(in: 0..<12, using: &random) {
        case 0, 1, 2: await begin(store, &random, problems)
        case 3: await readAll(store, problems, isExpected: true)
        case 4:
            do { while try await store.removeExpired() {} } catch { problems.check(error, "the expiry") }
        case 5: await remove(store, &random, problems)
        default: await write(store, &random, problems)
        }
    }

    private static func upload(_ content: [UInt8], _ room: RoomName, _ account: AccountName) -> Upload {
        let stream = DigestStream()
        stream.add(content)
        guard let digest = AttachmentDigest(stream.finish()) else { preconditionFailure("a digest has 32 bytes") }
        return Upload(key: AttachmentKey(room: room, account: account, digest: digest), content: content)
    }

    private func begin(_ store: FileAttachmentStore, _ random: inout SeededRandom, _ problems: Problems) async {
        var index = ledger.uploads.indices.randomElement(using: &random)
        if index == nil || Bool.random(using: &random), ledger.uploads.count < 12 {
            let count = [0, 1, 700, 5000, 9000].randomElement(using: &random) ?? 1
            let seed = random.next()
            ledger.uploads.append(
                Self.upload(
                    (0..<count).map { UInt8(truncatingIfNeeded: seed >> UInt64($0 % 57)) &+ UInt8($0 % 251) },
                    Self.rooms.randomElement(using: &random) ?? "lobby",
                    Self.accounts.randomElement(using: &random) ?? "alice"))
            index = ledger.uploads.count - 1
        }
        if let index { _ = await begin(index, store, problems) }
    }

    /// Begins or continues an upload. Returns its position; nil after an error.
    private func begin(_ index: Int, _ store: FileAttachmentStore, _ problems: Problems) async -> Int? {
        let upload = ledger.uploads[index]
        do {
            let found = Int(
                try await store.begin(upload.key, byteCount: UInt64(upload.content.count), mediaType: "a/b"))
            // Without power the store has forgotten a file that it could not restore.
            if problems.isPowerCut, found == 0 { return found }
            var expected = upload.doubts.union([upload.position])
            if upload.mayBeLost { expected.insert(0) }
            // Another upload of the same attachment may have completed it.
            if upload.isComplete || ledger.uploads.contains(where: { $0.isComplete && $0.isSame(as: upload) }) {
                expected = [upload.content.count]
            }
            if !expected.contains(found), !ledger.isDamaged {
                problems.add("an upload continues at \(found), not \(expected.sorted())")
            }
            ledger.uploads[index].begin(at: found)
            return found
        } catch {
            problems.check(error, "begin")
            if upload.position == 0, upload.content.isEmpty { ledger.uploads[index].mayBeLost = true }
            return nil
        }
    }

    private func write(_ store: FileAttachmentStore, _ random: inout SeededRandom, _ problems: Problems) async {
        let open = ledger.uploads.indices.filter { !ledger.uploads[$0].isComplete }
        guard let index = open.randomElement(using: &random), let position = await begin(index, store, problems)
        else { return }
        let upload = ledger.uploads[index]
        guard position < upload.content.count else { return }
        // Positions other than that of the store are refused.
        let isWrong = Int.random(in: 0..<8, using: &random) == 0
        let start = isWrong ? position + 1 : position
        let end = min(
            upload.content.count, start + ([1, 600, 3000, 9000].randomElement(using: &random) ?? 1))
        guard start < end else { return }
        let middle = Int.random(in: start...end, using: &random)
        let chunks = [Array(upload.content[start..<middle]), Array(upload.content[middle..<end])]
        do {
            let written = try await store.write(chunks, at: UInt64(start), of: upload.key)
            if isWrong { problems.add("bytes at a wrong position are stored") }
            if written.position != UInt64(end) { problems.add("a write ends at \(written.position), not \(end)") }
            ledger.uploads[index].take(end)
        } catch AttachmentFailure.digestMismatch {
            if !ledger.isDamaged { problems.add("the bytes of an upload have another digest") }
            ledger.uploads[index].position = 0
        } catch {
            problems.check(error, "a write")
            guard !isWrong else { return }
            ledger.uploads[index].doubts.insert(end)
            // The failed write is undone, unless that fails as well. Without power nothing is changed.
            if !problems.isPowerCut { ledger.uploads[index].mayBeLost = true }
        }
    }

    private func remove(_ store: FileAttachmentStore, _ random: inout SeededRandom, _ problems: Problems) async {
        guard let index = ledger.uploads.indices.randomElement(using: &random) else { return }
        do { try await store.remove(ledger.uploads[index].key) } catch { problems.check(error, "a removal") }
        guard !ledger.uploads[index].isComplete else { return }
        // A removal that failed leaves the upload or not.
        ledger.uploads[index].mayBeLost = true
    }

    /// Reads all complete attachments.
    private func readAll(_ store: FileAttachmentStore, _ problems: Problems, isExpected: Bool) async {
        for upload in ledger.uploads where upload.isComplete && !upload.content.isEmpty {
            do {
                let info = try await store.info(upload.key.digest, in: upload.key.room)
                if info.byteCount != UInt64(upload.content.count) { problems.add("another length: \(info)") }
                var bytes: [UInt8] = []
                while bytes.count < upload.content.count {
                    bytes += try await store.read(
                        upload.key.digest, in: upload.key.room, at: UInt64(bytes.count), length: 2500
                    ).bytes
                }
                if bytes != upload.content { problems.add("an attachment of \(bytes.count) bytes is different") }
            } catch AttachmentFailure.unknown {
                problems.add("an attachment of \(upload.content.count) bytes is lost")
            } catch {
                problems.check(error, "a read")
                if !isExpected { problems.add("\(error)") }
            }
        }
    }

    // MARK: Check

    func check(after damage: FileDamage, _ problems: Problems) async -> Bool {
        do {
            if damage.isDamaged { try takeDamaged(problems) }
            let store = try opened()
            await readAll(store, problems, isExpected: false)
            // Each upload continues where it was acknowledged, and is completed.
            for index in ledger.uploads.indices where problems.texts.isEmpty {
                guard let position = await begin(index, store, problems) else {
                    problems.add("an upload cannot be continued")
                    continue
                }
                if index % 2 == 0 { try await complete(index, from: position, store, problems) }
            }
            ledger.isDamaged = false
            await finish(store)
            await verify(problems)
            return true
        } catch {
            problems.check(error, "the check")
            if !damage.isDamaged { problems.add("\(error)") }
            return false
        }
    }

    private func complete(
        _ index: Int, from position: Int, _ store: FileAttachmentStore, _ problems: Problems
    ) async throws {
        let upload = ledger.uploads[index]
        var start = position
        while start < upload.content.count {
            let end = min(upload.content.count, start + 4000)
            do {
                _ = try await store.write([Array(upload.content[start..<end])], at: UInt64(start), of: upload.key)
                start = end
            } catch AttachmentFailure.digestMismatch where ledger.isDamaged && position > 0 {
                // Stored bytes were damaged. The upload begins anew.
                start = Int(
                    try await store.begin(upload.key, byteCount: UInt64(upload.content.count), mediaType: "a/b"))
                if start > 0 { problems.add("a damaged upload continues at \(start)") }
                ledger.uploads[index].position = 0
                return try await complete(index, from: 0, store, problems)
            }
        }
        ledger.uploads[index].take(upload.content.count)
    }

    /// Every complete file is verified by reading all of its bytes.
    private func verify(_ problems: Problems) async {
        do {
            let archive = AttachmentArchive(directory: folder)
            for file in try archive.files() where try archive.verify(file) == false {
                let isSetAside = file.path.hasSuffix(AttachmentFolder.damagedSuffix)
                if !isSetAside { problems.add("\(file.path) is damaged") }
            }
        } catch {
            problems.add("the archive: \(error)")
        }
    }

    /// Damage of a complete attachment is found by a check of all bytes. Such a file is removed, as an operator would.
    private func takeDamaged(_ problems: Problems) throws {
        ledger.isDamaged = true
        let archive = AttachmentArchive(directory: folder)
        var sound: Set<AttachmentArchive.Attachment> = []
        for file in try archive.files() {
            if try archive.verify(file) == true, let attachment = file.attachment {
                sound.insert(attachment)
            } else {
                try Folder.removeFile("\(folder)/\(file.path)")
            }
        }
        for index in ledger.uploads.indices {
            let upload = ledger.uploads[index]
            let isSound = sound.contains { $0.room == upload.key.room && $0.digest == upload.key.digest }
            if upload.isComplete, !isSound, !upload.content.isEmpty { ledger.uploads[index].isComplete = false }
            ledger.uploads[index].mayBeLost = true
        }
    }
}

extension AttachmentStorage.Upload {
    /// Whether both uploads are of one attachment.
    func isSame(as other: Self) -> Bool { key.room == other.key.room && key.digest == other.key.digest }

    /// The store has answered with the position of its file. A file that it could not remove can return.
    mutating func begin(at position: Int) {
        if position != self.position { doubts.insert(self.position) }
        self.position = position
        isComplete = position == content.count
    }

    /// The store has stored bytes up to a position.
    mutating func take(_ position: Int) {
        self.position = position
        // A write that failed after the last byte may have completed the attachment.
        doubts.formIntersection([content.count])
        mayBeLost = false
        isComplete = position == content.count
    }
}
