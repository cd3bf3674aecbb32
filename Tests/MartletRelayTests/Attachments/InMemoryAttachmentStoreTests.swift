import MartletLink
import MartletTransport
import MartletWire
import Testing

@testable import MartletRelay

@Suite struct InMemoryAttachmentStoreTests {
    @Test func `an upload is stored, read and not sent again`() async throws {
        let store = InMemoryAttachmentStore()
        let content = attachmentContent(50_000)
        let key = attachmentKey(content)
        #expect(try await store.begin(key, byteCount: 50_000, mediaType: "a/b") == 0)
        #expect(try await store.write([Array(content[..<20_000])], at: 0, of: key).position == 20_000)
        await #expect(throws: AttachmentFailure.wrongPosition) { try await store.write([[1]], at: 20_001, of: key) }
        #expect(try await store.begin(key, byteCount: 50_000, mediaType: "a/b") == 20_000)
        #expect(try await store.write([Array(content[20_000...])], at: 20_000, of: key).position == 50_000)
        #expect(
            try await store.read(key.digest, in: key.room, at: 49_990, length: 99).bytes == Array(content[49_990...]))
        let other = attachmentKey(content, account: "bob")
        #expect(try await store.begin(other, byteCount: 50_000, mediaType: nil) == 50_000)
        let elsewhere = attachmentKey(content, room: "hall")
        #expect(try await store.begin(elsewhere, byteCount: 50_000, mediaType: nil) == 0)
    }

    //
    @Test func `an empty attachment is complete at once if its digest is right`() async throws {
        let store = InMemoryAttachmentStore()
        #expect(try await store.begin(attachmentKey([]), byteCount: 0, mediaType: nil) == 0)
        #expect(try await store.info(attachmentKey([]).digest, in: attachmentKey([]).room).byteCount == 0)
        await #expect(throws: AttachmentFailure.digestMismatch) {
            try await store.begin(attachmentKey([1]), byteCount: 0, mediaType: nil)
        }
    }

    //
    @Test func `bytes of an attachment beyond the bound of memory are refused`() async throws {
        let store = InMemoryAttachmentStore()
        await #expect(throws: AttachmentFailure.tooLarge) {
            try await store.begin(attachmentKey([1]), byteCount: 16 << 20 + 1, mediaType: nil)
        }
    }

    //
    @Test func `begins without bytes of many accounts → other uploads are stored`() async throws {
        let store = InMemoryAttachmentStore()
        for number in 0..<9 {
            for byte in 0..<2 {
                let key = attachmentKey([UInt8(byte)], account: "filler\(number)")
                #expect(try await store.begin(key, byteCount: 16 << 20, mediaType: nil) == 0)
            }
        }
        let content = attachmentContent(1000)
        _ = try await store.begin(attachmentKey(content), byteCount: 1000, mediaType: nil)
        #expect(try await store.write([content], at: 0, of: attachmentKey(content)).position == 1000)
    }
}
