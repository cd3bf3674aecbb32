import Foundation
import MartletAuthentication
import MartletLink
import MartletTransport
import MartletWire
import Testing

@testable import MartletRelay

// The quotas of the store of attachments in a folder.
extension FileAttachmentStoreTests {
    // R-164, Specs/hostile.md row 96
    @Test func `begins without bytes of many accounts → other uploads are stored, and there are no files`() async throws
    {
        try await withFolder { folder in
            var limits = AttachmentLimits()
            limits.maxByteCount = 1000
            limits.maxByteCountPerAccount = 1000
            limits.maxTotalByteCount = 3000
            limits.maxCount = 4
            let store = try FileAttachmentStore(directory: folder, limits: limits)
            for number in 0..<50 {
                let key = attachmentKey([1], account: "filler\(number)")
                #expect(try await store.begin(key, byteCount: 1000, mediaType: nil) == 0)
            }
            #expect(files(folder) == [])
            let content = attachmentContent(1000)
            let key = attachmentKey(content)
            #expect(try await store.begin(key, byteCount: 1000, mediaType: nil) == 0)
            #expect(try await store.write([content], at: 0, of: key).position == 1000)
            await #expect(throws: AttachmentFailure.quota) {
                try await store.begin(attachmentKey([1]), byteCount: 1, mediaType: nil)
            }
            // A promise is kept when bytes arrive, as far as there is room.
            let filler = attachmentKey([1], account: "filler0")
            _ = try await store.write([[UInt8](repeating: 1, count: 900)], at: 0, of: filler)
            _ = try await store.write(
                [[UInt8](repeating: 1, count: 900)], at: 0, of: attachmentKey([1], account: "filler1"))
            await #expect(throws: AttachmentFailure.full) {
                try await store.write(
                    [[UInt8](repeating: 1, count: 900)], at: 0, of: attachmentKey([1], account: "filler2"))
            }
        }
    }

    // Specs/hostile.md row 98
    @Test func `an attachment that another account begins → it counts for this account, also after a restart`()
        async throws
    {
        try await withFolder { folder in
            var limits = AttachmentLimits()
            limits.maxByteCountPerAccount = 1000
            let content = attachmentContent(1000)
            let (alice, bob) = (attachmentKey(content), attachmentKey(content, account: "bob"))
            func begin(_ store: FileAttachmentStore, _ account: String) async throws -> UInt64 {
                try await store.begin(attachmentKey([1], account: account), byteCount: 1, mediaType: nil)
            }
            do {
                let store = try FileAttachmentStore(directory: folder, limits: limits)
                _ = try await store.begin(alice, byteCount: 1000, mediaType: nil)
                _ = try await store.write([content], at: 0, of: alice)
                await #expect(throws: AttachmentFailure.quota) { try await begin(store, "alice") }
                #expect(try await store.begin(bob, byteCount: 1000, mediaType: nil) == 1000)
                #expect(try await begin(store, "alice") == 0)
                await #expect(throws: AttachmentFailure.quota) { try await begin(store, "bob") }
                // An account without room in its quota cannot renew the lifetime.
                await #expect(throws: AttachmentFailure.quota) {
                    try await store.begin(alice, byteCount: 1000, mediaType: nil)
                }
            }
            let store = try FileAttachmentStore(directory: folder, limits: limits)
            #expect(try await begin(store, "alice") == 0)
            await #expect(throws: AttachmentFailure.quota) { try await begin(store, "bob") }
            #expect(try await store.read(bob.digest, in: bob.room, at: 0, length: 1000).bytes == content)
        }
    }
}
