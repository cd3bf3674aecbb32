import Foundation
import MartletLink
import MartletTransport
import MartletWire
import Testing

@testable import MartletRelay

@Suite struct SharedAttachmentStoreTests {
    /// A folder, and a wall clock in milliseconds that the stores in it share.
    private final class Shared: Sendable {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("martlet-\(UUID().uuidString)").path
        private let time = Guarded(UInt64(1_000_000_000))
        private let start = ContinuousClock.now

        deinit { try? FileManager.default.removeItem(atPath: folder) }

        func advance(days: UInt64) { time.withLock { $0 += days * 86_400_000 } }

        func store(_ name: String) throws -> SharedAttachmentStore {
            try SharedAttachmentStore(
                directory: folder, relay: name, limits: AttachmentLimits(), clock: { self.time.withLock { $0 } },
                steady: { self.start.advanced(by: .milliseconds(self.time.withLock { $0 } - 1_000_000_000)) })
        }
    }

    private func upload(_ content: [UInt8], _ key: AttachmentKey, to store: SharedAttachmentStore) async throws {
        #expect(try await store.begin(key, byteCount: UInt64(content.count), mediaType: "a/b") == 0)
        _ = try await store.write([content], at: 0, of: key)
    }

    private let content = attachmentContent(50_000)

    //
    @Test func `an attachment of one relay → read, and complete for an upload, at the others and after its end`()
        async throws
    {
        let shared = Shared()
        let (first, second) = (try shared.store("one"), try shared.store("two"))
        let key = attachmentKey(content)
        await #expect(throws: AttachmentFailure.unknown) { try await second.info(key.digest, in: key.room) }
        try await upload(content, key, to: first)
        let info = try await second.info(key.digest, in: key.room)
        #expect(info.byteCount == 50_000 && info.mediaType == "a/b")
        #expect(try await second.read(key.digest, in: key.room, at: 100, length: 50).bytes == Array(content[100..<150]))
        let third = try shared.store("three")
        #expect(
            try await third.begin(attachmentKey(content, account: "bob"), byteCount: 50_000, mediaType: nil) == 50_000)
        // An upload in the middle begins anew elsewhere.
        let other = attachmentContent(1000, seed: 2)
        _ = try await first.begin(attachmentKey(other), byteCount: 1000, mediaType: nil)
        _ = try await first.write([Array(other[..<500])], at: 0, of: attachmentKey(other))
        #expect(try await second.begin(attachmentKey(other), byteCount: 1000, mediaType: nil) == 0)
        await #expect(throws: AttachmentFailure.unknown) {
            try await second.read(attachmentKey(other).digest, in: key.room, at: 0, length: 1)
        }
    }

    @Test func `two relays with one name → the later one is refused`() throws {
        let shared = Shared()
        let first = try shared.store("one")
        #expect(throws: AttachmentStoreError.self) { try shared.store("one") }
        withExtendedLifetime(first) {}
    }

    //
    @Test func `a lifetime that ends at one relay and was renewed at another → kept there, and adopted again`()
        async throws
    {
        let shared = Shared()
        let (first, second) = (try shared.store("one"), try shared.store("two"))
        let key = attachmentKey(content)
        try await upload(content, key, to: first)
        shared.advance(days: 20)
        #expect(try await second.begin(key, byteCount: 50_000, mediaType: nil) == 50_000)
        shared.advance(days: 20)
        _ = try await first.removeExpired()
        _ = try await second.removeExpired()
        #expect(try await first.read(key.digest, in: key.room, at: 0, length: 1).bytes == [content[0]])
        shared.advance(days: 40)
        for store in [first, second] { _ = try await store.removeExpired() }
        for store in [first, second] {
            await #expect(throws: AttachmentFailure.unknown) {
                try await store.read(key.digest, in: key.room, at: 0, length: 1)
            }
        }
    }

    //
    @Test func `attachments of an account are removed at one relay → at none of them; those of others are kept`()
        async throws
    {
        let shared = Shared()
        let (first, second) = (try shared.store("one"), try shared.store("two"))
        let (key, named) = (attachmentKey(content), attachmentKey(attachmentContent(100, seed: 3)))
        try await upload(content, key, to: first)
        try await upload(attachmentContent(100, seed: 3), named, to: first)
        _ = try await second.read(key.digest, in: key.room, at: 0, length: 1)
        try await second.reassign(named.digest, in: key.room, from: "alice", to: "bob")
        try await second.removeAll(of: "alice", in: key.room)
        for store in [first, second] {
            _ = try await store.removeExpired()
            await #expect(throws: AttachmentFailure.unknown) {
                try await store.read(key.digest, in: key.room, at: 0, length: 1)
            }
            #expect(try await store.read(named.digest, in: key.room, at: 0, length: 9).bytes.count == 9)
        }
        // The attachment can be sent again.
        try await upload(content, key, to: first)
    }
}
