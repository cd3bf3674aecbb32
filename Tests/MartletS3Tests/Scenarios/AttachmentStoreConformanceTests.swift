import Foundation
import MartletAuthentication
import MartletRelay
import MartletS3
import MartletTransport
import MartletWire
import Testing

func content(_ byteCount: Int, seed: UInt8 = 1) -> [UInt8] {
    let pattern = (0..<1021).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8 &+ Int(seed)) }
    let bytes = (0...byteCount / pattern.count).reduce(into: [UInt8]()) { bytes, _ in bytes += pattern }
    return Array(bytes.prefix(byteCount))
}

func key(_ content: [UInt8], room: RoomName = "lobby", account: AccountName = "alice") -> AttachmentKey {
    let stream = DigestStream()
    stream.add(content)
    guard let digest = AttachmentDigest(stream.finish()) else { preconditionFailure("a digest has 32 bytes") }
    return AttachmentKey(room: room, account: account, digest: digest)
}

/// A kind of store, all of which have the same contract.
enum AttachmentStoreKind: CaseIterable {
    case memory, files, bucket

    /// Performs a test with a new store, and with a closure that advances its clocks by a number of hours.
    func with(
        _ change: (inout AttachmentLimits) -> Void = { _ in },
        _ body: (any AttachmentStore, (UInt64) -> Void) async throws -> Void
    ) async throws {
        var limits = AttachmentLimits()
        change(&limits)
        let (time, start) = (Time(), ContinuousClock.now)
        let wall: @Sendable () -> UInt64 = { time.now.withLock { $0 } }
        let steady: @Sendable () -> ContinuousClock.Instant = {
            start.advanced(by: .milliseconds(time.now.withLock { $0 } - Time.first))
        }
        let advance = { (hours: UInt64) in time.now.withLock { $0 += hours * 3_600_000 } }
        switch self {
        case .memory: try await body(InMemoryAttachmentStore(limits: limits, clock: wall, steady: steady), advance)
        case .files:
            let folder = FileManager.default.temporaryDirectory.appendingPathComponent("martlet-\(UUID().uuidString)")
            defer { try? FileManager.default.removeItem(at: folder) }
            try await body(
                FileAttachmentStore(
                    directory: folder.path, limits: limits, disk: DiskSpace(reserve: 0) { nil }, clock: wall,
                    steady: steady), advance)
        case .bucket:
            let bucket = VirtualBucket()
            try await body(try await bucket.store { $0.limits = limits }, bucket.advance)
        }
    }

    private final class Time: Sendable {
        static let first: UInt64 = 1_700_000_000_000
        let now = Guarded(first)
    }
}

/// The contract of `AttachmentStore`, of the stores in memory, in files and in a bucket.
@Suite struct AttachmentStoreConformanceTests {
    //
    @Test(arguments: AttachmentStoreKind.allCases)
    func `bytes in several calls -> positions, and a complete attachment that is not sent again`(
        kind: AttachmentStoreKind
    ) async throws {
        try await kind.with { store, _ in
            let bytes = content(50_000)
            let upload = key(bytes)
            #expect(try await store.begin(upload, byteCount: 50_000, mediaType: "a/b") == 0)
            #expect(try await store.write([Array(bytes[..<9000])], at: 0, of: upload) == (9000, 50_000))
            await #expect(throws: AttachmentFailure.wrongPosition) {
                try await store.write([[1]], at: 8999, of: upload)
            }
            await #expect(throws: AttachmentFailure.unknown) { try await store.info(upload.digest, in: "lobby") }
            #expect(try await store.begin(upload, byteCount: 50_000, mediaType: "a/b") == 9000)
            let parts = [Array(bytes[9000..<10_000]), Array(bytes[10_000...])]
            #expect(try await store.write(parts, at: 9000, of: upload) == (50_000, 50_000))
            #expect(try await store.info(upload.digest, in: "lobby") == (50_000, "a/b"))
            for (position, length) in [(0, 15_360), (8990, 20), (49_000, 15_360), (49_999, 1)] {
                let read = try await store.read(upload.digest, in: "lobby", at: UInt64(position), length: length)
                #expect(read == (Array(bytes[position...].prefix(length)), 50_000))
            }
            await #expect(throws: AttachmentFailure.wrongPosition) {
                try await store.read(upload.digest, in: "lobby", at: 50_000, length: 1)
            }
            #expect(try await store.begin(key(bytes, account: "bob"), byteCount: 50_000, mediaType: nil) == 50_000)
            await #expect(throws: AttachmentFailure.unknown) { try await store.info(upload.digest, in: "attic") }
            #expect(try await store.begin(key(bytes, room: "attic"), byteCount: 50_000, mediaType: nil) == 0)
        }
    }

    //
    @Test(arguments: AttachmentStoreKind.allCases)
    func `bytes with a different digest -> discarded; an upload without bytes -> complete at once`(
        kind: AttachmentStoreKind
    ) async throws {
        try await kind.with { store, _ in
            let upload = key(content(1000))
            _ = try await store.begin(upload, byteCount: 1000, mediaType: nil)
            await #expect(throws: AttachmentFailure.digestMismatch) {
                try await store.write([content(1000, seed: 2)], at: 0, of: upload)
            }
            await #expect(throws: AttachmentFailure.unknown) { try await store.write([[1]], at: 0, of: upload) }
            #expect(try await store.begin(upload, byteCount: 1000, mediaType: nil) == 0)
            _ = try await store.write([content(1000)], at: 0, of: upload)
            #expect(try await store.begin(key([]), byteCount: 0, mediaType: nil) == 0)
            #expect(try await store.info(key([]).digest, in: "lobby").byteCount == 0)
            await #expect(throws: AttachmentFailure.digestMismatch) {
                try await store.begin(key([1]), byteCount: 0, mediaType: nil)
            }
        }
    }

    //
    @Test(arguments: AttachmentStoreKind.allCases)
    func `a different length -> refused for a complete attachment, begun anew for an upload; removed -> begun anew`(
        kind: AttachmentStoreKind
    ) async throws {
        try await kind.with { store, _ in
            let upload = key(content(1000))
            _ = try await store.begin(upload, byteCount: 2000, mediaType: nil)
            _ = try await store.write([content(300)], at: 0, of: upload)
            #expect(try await store.begin(upload, byteCount: 1000, mediaType: nil) == 0)
            _ = try await store.write([Array(content(1000)[..<300])], at: 0, of: upload)
            try await store.remove(upload)
            await #expect(throws: AttachmentFailure.unknown) { try await store.write([[1]], at: 300, of: upload) }
            #expect(try await store.begin(upload, byteCount: 1000, mediaType: nil) == 0)
            _ = try await store.write([content(1000)], at: 0, of: upload)
            await #expect(throws: AttachmentFailure.digestMismatch) {
                try await store.begin(upload, byteCount: 999, mediaType: nil)
            }
        }
    }

    //
    @Test(arguments: AttachmentStoreKind.allCases)
    func `bounds of an attachment, an account and all bytes -> refusals with their reasons`(
        kind: AttachmentStoreKind
    ) async throws {
        try await kind.with {
            ($0.maxByteCount, $0.maxByteCountPerAccount, $0.maxTotalByteCount) = (1000, 1500, 2000)
        } _: { store, _ in
            func begin(_ bytes: [UInt8], _ account: AccountName = "alice") async throws -> UInt64 {
                try await store.begin(key(bytes, account: account), byteCount: UInt64(bytes.count), mediaType: nil)
            }
            await #expect(throws: AttachmentFailure.tooLarge) { try await begin(content(1001)) }
            _ = try await begin(content(1000))
            await #expect(throws: AttachmentFailure.quota) { try await begin(content(600, seed: 2)) }
            _ = try await store.write([content(1000)], at: 0, of: key(content(1000)))
            _ = try await begin(content(900, seed: 3), "bob")
            _ = try await begin(content(800, seed: 4), "carol")
            _ = try await store.write([content(900, seed: 3)], at: 0, of: key(content(900, seed: 3), account: "bob"))
            await #expect(throws: AttachmentFailure.full) {
                try await store.write([content(800, seed: 4)], at: 0, of: key(content(800, seed: 4), account: "carol"))
            }
            // A renewed attachment counts for the account that renews it.
            await #expect(throws: AttachmentFailure.quota) { try await begin(content(1000), "bob") }
            #expect(try await begin(content(1000), "dora") == 1000)
            #expect(try await begin(content(100, seed: 5)) == 0)
        }
    }

    //
    @Test(arguments: AttachmentStoreKind.allCases)
    func `lifetimes that have ended -> removed; renewed ones -> kept`(kind: AttachmentStoreKind) async throws {
        try await kind.with { store, advance in
            let (kept, lost, part) = (content(1000), content(1000, seed: 2), content(1000, seed: 3))
            for bytes in [kept, lost] {
                _ = try await store.begin(key(bytes), byteCount: 1000, mediaType: nil)
                _ = try await store.write([bytes], at: 0, of: key(bytes))
            }
            _ = try await store.begin(key(part), byteCount: 1000, mediaType: nil)
            _ = try await store.write([Array(part[..<500])], at: 0, of: key(part))
            advance(23)
            while try await store.removeExpired() {}
            #expect(try await store.begin(key(part), byteCount: 1000, mediaType: nil) == 500)
            advance(20 * 24)
            #expect(try await store.begin(key(kept), byteCount: 1000, mediaType: nil) == 1000)
            while try await store.removeExpired() {}
            await #expect(throws: AttachmentFailure.unknown) {
                try await store.write([Array(part[500...])], at: 500, of: key(part))
            }
            advance(20 * 24)
            while try await store.removeExpired() {}
            #expect(try await store.read(key(kept).digest, in: "lobby", at: 0, length: 9).bytes == Array(kept[..<9]))
            await #expect(throws: AttachmentFailure.unknown) { try await store.info(key(lost).digest, in: "lobby") }
        }
    }

    //
    @Test(arguments: AttachmentStoreKind.allCases)
    func `attachments and uploads of an account are removed; those that were reassigned are kept`(
        kind: AttachmentStoreKind
    ) async throws {
        try await kind.with { store, _ in
            let (own, named, part) = (content(100), content(100, seed: 2), content(100, seed: 3))
            for bytes in [own, named] {
                _ = try await store.begin(key(bytes), byteCount: 100, mediaType: nil)
                _ = try await store.write([bytes], at: 0, of: key(bytes))
            }
            _ = try await store.begin(key(part), byteCount: 100, mediaType: nil)
            _ = try await store.write([Array(part[..<50])], at: 0, of: key(part))
            try await store.reassign(key(named).digest, in: "lobby", from: "carol", to: "alice")
            try await store.reassign(key(named).digest, in: "lobby", from: "alice", to: "bob")
            try await store.removeAll(of: "alice", in: "attic")
            #expect(try await store.info(key(own).digest, in: "lobby").byteCount == 100)
            try await store.removeAll(of: "alice", in: "lobby")
            await #expect(throws: AttachmentFailure.unknown) { try await store.info(key(own).digest, in: "lobby") }
            #expect(try await store.read(key(named).digest, in: "lobby", at: 0, length: 100).bytes == named)
            for bytes in [own, part] { #expect(try await store.begin(key(bytes), byteCount: 100, mediaType: nil) == 0) }
        }
    }
}
