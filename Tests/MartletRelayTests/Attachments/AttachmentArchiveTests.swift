import Foundation
import MartletLink
import MartletTransport
import MartletWire
import Testing

@testable import MartletRelay

@Suite struct AttachmentArchiveTests {
    @Test func `files of a folder that a relay uses → copied with their bytes, and damaged ones are found`()
        async throws
    {
        let base = FileManager.default.temporaryDirectory.appendingPathComponent("martlet-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: base) }
        try Folder.create(base)
        let (folder, copies) = ("\(base)/a", "\(base)/b")
        let store = try FileAttachmentStore(directory: folder)
        let contents = [attachmentContent(3_000_000), attachmentContent(10, seed: 2), attachmentContent(10, seed: 3)]
        for content in contents {
            _ = try await store.begin(attachmentKey(content), byteCount: UInt64(content.count), mediaType: nil)
            _ = try await store.write([content], at: 0, of: attachmentKey(content))
        }
        let part = attachmentContent(10, seed: 4)
        _ = try await store.begin(attachmentKey(part), byteCount: 10, mediaType: nil)
        _ = try await store.write([[part[0]]], at: 0, of: attachmentKey(part))

        let archive = AttachmentArchive(directory: folder)
        let files = try archive.files()
        #expect(Set(files.compactMap { $0.attachment?.digest }) == Set(contents.map { attachmentKey($0).digest }))
        for file in files {
            #expect(try archive.verify(file) == true)
            #expect(try archive.copy(file, to: copies) == true)
        }
        let copied = try FileAttachmentStore(directory: copies)
        let key = attachmentKey(contents[0])
        let read = try await copied.read(key.digest, in: key.room, at: 2_990_000, length: 15_360)
        #expect(read.bytes == Array(contents[0][2_990_000...]))

        let small = try #require(files.first { $0.attachment?.byteCount == 10 })
        try RegularFile("\(folder)/\(small.path)", .write).write([9], at: AttachmentFile.headByteCount + 3)
        #expect(try archive.verify(small) == false)
        #expect(try archive.copy(small, to: copies) == false)
        let other = try #require(files.last { $0.attachment?.byteCount == 10 })
        try RegularFile("\(folder)/\(other.path)", .write).write([9], at: 20)
        #expect(try archive.files().first { $0.path == other.path }?.attachment == nil)
        try Folder.removeFile("\(folder)/\(other.path)")
        #expect(try archive.verify(other) == nil)
        #expect(try archive.copy(other, to: copies) == nil)
        #expect(try AttachmentArchive(directory: "\(base)/none").files() == [])
    }
}
