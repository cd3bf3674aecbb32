import Foundation
import Martlet
import MartletLink
import MartletRelay
import MartletWire
import Testing

@Suite("Attachments over sockets", .timeLimit(.minutes(10)))
struct AttachmentTests {
    private func content(_ byteCount: Int, seed: UInt64 = 1) -> [UInt8] {
        var state = seed
        return (0..<byteCount).map { _ in
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return UInt8(truncatingIfNeeded: state >> 33)
        }
    }

    private func withFolder(_ body: (String) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("martlet-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try await body(folder)
    }

    private func write(_ bytes: [UInt8], _ path: String) throws {
        try Data(bytes).write(to: URL(fileURLWithPath: path))
    }

    private func read(_ path: String) throws -> [UInt8] { Array(try Data(contentsOf: URL(fileURLWithPath: path))) }

    // R-100, M-20, M-21
    @Test func `a file that is sent with a message arrives as it was`() async throws {
        try await withFolder { folder in
            let bytes = content(700_000)
            try write(bytes, "\(folder)/photo.jpg")
            try await withRelay(attachments: InMemoryAttachmentStore()) { relay in
                try await withClient("alice", at: relay) { alice in
                    let room = try await alice.open(room: "lobby")
                    let upload = room.upload(
                        fileAt: "\(folder)/photo.jpg", mediaType: "image/jpeg", thumbnail: [1, 2, 3])
                    try await room.send(.attachment(try await upload.value()))
                    var last: TransferProgress?
                    for await progress in upload.progress { last = progress }
                    #expect(last?.byteCount == 700_000 && last?.totalByteCount == 700_000)
                    // The room has it: nothing is transferred.
                    _ = try await room.upload(bytes).value()
                }
                try await withClient("bob", at: relay) { bob in
                    let room = try await bob.open(room: "lobby", options: Room.Options(from: .start))
                    let message = try #require(try await room.messages.first(1).first)
                    guard case .attachment(let attachment) = try MessageBody(message.content) else {
                        Issue.record("no attachment")
                        return
                    }
                    #expect(attachment.name == "photo.jpg" && attachment.thumbnail == [1, 2, 3])
                    try await room.download(attachment, to: "\(folder)/copy").value()
                    #expect(try read("\(folder)/copy") == bytes)
                    try await room.download(attachment, to: "\(folder)/part", range: 100..<5000).value()
                    #expect(try read("\(folder)/part") == Array(bytes[100..<5000]))
                    #expect(try await room.data(of: attachment) == bytes)
                    let names = try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
                    #expect(names == ["copy", "part", "photo.jpg"])
                }
            }
        }
    }

    //
    @Test func `a download continues the file of an earlier process, and discards one with other bytes`() async throws {
        try await withFolder { folder in
            let bytes = content(400_000)
            try await withRelay(attachments: InMemoryAttachmentStore()) { relay in
                try await withClient("alice", at: relay) { alice in
                    let room = try await alice.open(room: "lobby")
                    let attachment = try await room.upload(bytes).value()
                    let hex = attachment.relayDigest!.description.prefix(16)
                    for part in [Array(bytes[..<150_000]), content(150_000, seed: 9), content(500_000)] {
                        try write(part, "\(folder)/copy.\(hex).part")
                        try await room.download(attachment, to: "\(folder)/copy").value()
                        #expect(try read("\(folder)/copy") == bytes)
                    }
                    #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == ["copy"])
                }
            }
        }
    }

    //
    @Test func `a download of a range begins anew, whatever an earlier process has left`() async throws {
        try await withFolder { folder in
            let bytes = content(40_000)
            try await withRelay(attachments: InMemoryAttachmentStore()) { relay in
                try await withClient("alice", at: relay) { alice in
                    let room = try await alice.open(room: "lobby")
                    let attachment = try await room.upload(bytes).value()
                    let hex = attachment.relayDigest!.description.prefix(16)
                    try write([UInt8](repeating: 0, count: 20_000), "\(folder)/copy.\(hex).100-39000.part")
                    let download = room.download(attachment, to: "\(folder)/copy", range: 100..<39_000)
                    try await download.value()
                    #expect(try read("\(folder)/copy") == Array(bytes[100..<39_000]))
                }
            }
        }
    }

    @Test func `two downloads to one path at once → both succeed with the whole file`() async throws {
        try await withFolder { folder in
            let bytes = content(3_000_000)
            try await withRelay(attachments: InMemoryAttachmentStore()) { relay in
                try await withClient("alice", at: relay) { alice in
                    let room = try await alice.open(room: "lobby")
                    let attachment = try await room.upload(bytes).value()
                    let first = room.download(attachment, to: "\(folder)/copy")
                    let second = room.download(attachment, to: "\(folder)/copy")
                    try await first.value()
                    try await second.value()
                    #expect(try read("\(folder)/copy") == bytes)
                    let third = room.download(attachment, to: "\(folder)/copy")
                    try await third.value()
                    #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == ["copy"])
                }
            }
        }
    }

    //
    @Test func `an upload that is continued → its progress begins with the bytes that the relay has`() async throws {
        let bytes = content(100_000)
        let store = InMemoryAttachmentStore()
        try await withRelay(attachments: store) { relay in
            try await withClient("alice", at: relay) { alice in
                let digest = try await alice.open(room: "hall").upload(bytes).value().relayDigest!
                let key = AttachmentKey(room: RoomName("lobby"), account: AccountName("alice"), digest: digest)
                _ = try await store.begin(key, byteCount: 100_000, mediaType: nil)
                _ = try await store.write([Array(bytes[..<30_000])], at: 0, of: key)
                let upload = try await alice.open(room: "lobby").upload(bytes)
                var first: TransferProgress?
                for await progress in upload.progress {
                    first = progress
                    break
                }
                let known = try #require(first)
                #expect(known.byteCount >= 30_000 && known.totalByteCount == 100_000)
                _ = try await upload.value()
            }
        }
    }

    // Specs/hostile.md row 95
    @Test(arguments: [0, 1, 1 << 31, 1 << 32, 1 << 63 - 1, 1 << 63, .max] as [UInt64])
    func `a message whose attachment has any length → its download ends with an error`(byteCount: UInt64) async throws {
        try await withFolder { folder in
            try await withRelay(attachments: InMemoryAttachmentStore()) { relay in
                try await withClient("bob", at: relay) { bob in
                    let room = try await bob.open(room: "lobby")
                    let attachment = Attachment(
                        location: Attachment.relayLocation, byteCount: byteCount,
                        digest: [UInt8](repeating: 7, count: 32)
                    )
                    let ranges: [Range<UInt64>?] = [nil, 0..<byteCount, byteCount / 2..<byteCount]
                    for range in ranges {
                        let download = room.download(attachment, to: "\(folder)/copy", range: range)
                        // An empty range has nothing to ask the relay for.
                        if byteCount == 0 {
                            try? await download.value()
                        } else {
                            await #expect(throws: MartletError.attachmentRefused(.unknownAttachment)) {
                                try await download.value()
                            }
                        }
                    }
                    await #expect(throws: MartletError.self) { try await room.data(of: attachment) }
                }
            }
        }
    }

    //
    @Test func `an upload goes on over lost connections, to files`() async throws {
        try await withFolder { folder in
            let bytes = content(6_000_000)
            try write(bytes, "\(folder)/file")
            let store = try FileAttachmentStore(directory: "\(folder)/attachments")
            try await withRelay(attachments: store) { relay in
                try await withProxy(to: relay) { proxy in
                    try await withClient("alice", at: proxy.endpoint, configuration: .hasty) { alice in
                        let room = try await alice.open(room: "lobby")
                        let upload = room.upload(fileAt: "\(folder)/file")
                        var cuts = 0
                        for await progress in upload.progress where progress.byteCount > UInt64(cuts) * 1_000_000 {
                            cuts += 1
                            await proxy.cut()
                        }
                        let attachment = try await upload.value()
                        #expect(cuts >= 3)
                        #expect(try await room.data(of: attachment, maxByteCount: 10_000_000) == bytes)
                    }
                }
            }
        }
    }

    //
    @Test func `a relay without a store of attachments is reported`() async throws {
        try await withRelay { relay in
            try await withClient("alice", at: relay) { alice in
                let room = try await alice.open(room: "lobby")
                await #expect(throws: MartletError.attachmentsUnsupported) { try await room.upload([1]).value() }
            }
        }
    }

    @Test func `a missing file, a refused size, a stop and a cancellation end a transfer with their errors`()
        async throws
    {
        var limits = AttachmentLimits.inMemory
        limits.maxByteCount = 100
        try await withRelay(attachments: InMemoryAttachmentStore(limits: limits)) { relay in
            let client = try Client(to: relay, as: .anonymous("alice"), configuration: .patient)
            try await client.start()
            let room = try await client.open(room: "lobby")
            await #expect(throws: MartletError.self) { try await room.upload(fileAt: "/does/not/exist").value() }
            await #expect(throws: MartletError.attachmentRefused(.attachmentTooLarge)) {
                try await room.upload([UInt8](repeating: 1, count: 101)).value()
            }
            let unknown = Attachment(
                location: Attachment.relayLocation, byteCount: 3, digest: [UInt8](repeating: 5, count: 32))
            await #expect(throws: MartletError.attachmentRefused(.unknownAttachment)) {
                try await room.data(of: unknown)
            }
            await #expect(throws: MartletError.self) {
                try await room.data(of: Attachment(location: "https://example.org", byteCount: 3))
            }
            let cancelled = room.upload([1, 2, 3])
            cancelled.cancel()
            await #expect(throws: (any Error).self) { try await cancelled.value() }
            await client.stop()
            await #expect(throws: MartletError.stopped) { try await room.upload([1]).value() }
        }
    }
}
