import Foundation
import MartletLink
import MartletTransport
import MartletWire
import Testing

@testable import MartletRelay

@Suite struct AttachmentUploadsTests {
    private static let day: UInt64 = 24 * 3600 * 1000

    //
    @Test func `attachments that are continued or sent again before their removal -> kept until they expire again`()
        throws
    {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("martlet-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try Folder.create(folder)
        let now = Guarded(UInt64(1_000_000_000))
        let index = GuardedIndex(AttachmentLimits())
        let uploads = AttachmentUploads(AttachmentFolder(path: folder), index) { now.withLock { $0 } }
        let (first, second) = (attachmentContent(100), attachmentContent(100, seed: 2))
        let (complete, incomplete) = (attachmentKey(first), attachmentKey(second))
        _ = try uploads.begin(complete, byteCount: 100, mediaType: nil)
        _ = try uploads.write([first], at: 0, of: complete)
        try uploads.complete(complete)
        _ = try uploads.begin(incomplete, byteCount: 100, mediaType: nil)
        now.withLock { $0 += 31 * Self.day }

        let (names, _) = index.expired(at: now.withLock { $0 }, stepCount: 10)
        #expect(Set(names) == [complete.completeName, incomplete.incompleteName])
        #expect(try uploads.begin(complete, byteCount: 100, mediaType: nil) == 100)
        #expect(try uploads.write([Array(second[..<50])], at: 0, of: incomplete) == 50)
        for name in names { try uploads.discardIfExpired(name, at: now.withLock { $0 }) }
        #expect(names.allSatisfy { index.entry($0) != nil })
        #expect(try uploads.begin(incomplete, byteCount: 100, mediaType: nil) == 50)

        now.withLock { $0 += 31 * Self.day }
        for name in names { try uploads.discardIfExpired(name, at: now.withLock { $0 }) }
        #expect(names.allSatisfy { index.entry($0) == nil })
    }
}
