import Foundation
import MartletLink
import MartletRelay
import MartletTransport
import Testing

@testable import Martlet
@testable import MartletSQLite

/// Messages with files in an outbox in a file.
@Suite("Messages with files", .timeLimit(.minutes(10)))
struct FileMessageTests {
    private let folder: TemporaryFolder
    private let path: String
    private let file: String
    private let bytes = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 * 7 >> 3) }

    init() throws {
        folder = try TemporaryFolder()
        path = folder.file("outbox")
        file = folder.file("photo.jpg")
        try Data(bytes).write(to: URL(fileURLWithPath: file))
    }

    /// Sends a file and a text without a connection.
    private func send() async throws -> [MessageID] {
        try await withClient("alice", at: nowhere, outbox: path) { alice in
            let lobby = try await alice.open(room: "lobby", options: .offline)
            let message = try await lobby.send(try await OutgoingMessage.file(at: file, caption: "a caption"))
            #expect(message.state == .queued && message.uploadProgress != nil)
            return [message.id, try await lobby.send("behind it").id]
        }
    }

    // M-25, M-26
    @Test func `a file and a text that are sent without a connection → a later client uploads it and publishes both`()
        async throws
    {
        let ids = try await send()
        try await withRelay(attachments: InMemoryAttachmentStore()) { relay in
            try await withClient("alice", at: relay, outbox: path) { alice in
                let lobby = try await alice.open(room: "lobby", options: .offline)
                for id in ids { _ = try await lobby.message(id)?.accepted() }
                #expect(ids.map { lobby.message($0)?.state } == [.accepted(offset: 1), .accepted(offset: 2)])
                #expect(lobby.message(ids[0])?.uploadProgress == nil)
            }
            try await withClient("bob", at: relay, outbox: folder.file("other")) { bob in
                let lobby = try await bob.open(room: "lobby")
                let page = try await lobby.messages(before: nil, limit: 2)
                guard case .attachment(let attachment)? = try page.messages.first.map({ try MessageBody($0.content) })
                else {
                    Issue.record("no attachment")
                    return
                }
                #expect(attachment.name == "photo.jpg" && attachment.caption == "a caption")
                #expect(try await lobby.data(of: attachment) == bytes)
            }
        }
    }

    // M-26
    @Test func `a file that has changed → its message fails, the next is published, and a retry uploads the file`()
        async throws
    {
        let ids = try await send()
        try Data([1, 2, 3]).write(to: URL(fileURLWithPath: file))
        try await withRelay(attachments: InMemoryAttachmentStore()) { relay in
            try await withClient("alice", at: relay, outbox: path) { alice in
                let lobby = try await alice.open(room: "lobby", options: .offline)
                #expect(try await lobby.message(ids[1])?.accepted() == 1)
                #expect(lobby.message(ids[0])?.state == .failed(.fileFailed))
                let letter = try #require(try await lobby.deadLetters().first)
                #expect(letter.id == ids[0] && letter.file == file && letter.failure == .fileFailed)
                try Data(bytes).write(to: URL(fileURLWithPath: file))
                #expect(try await lobby.retry(letter)?.accepted() == 2)
            }
        }
    }

    //
    @Test func `a message with a file at a relay without attachments → the failure states it as an upload does`()
        async throws
    {
        let ids = try await send()
        try await withRelay { relay in
            try await withClient("alice", at: relay, outbox: path) { alice in
                let lobby = try await alice.open(room: "lobby", options: .offline)
                let error = await #expect(throws: MartletError.self) {
                    try await lobby.message(ids[0])?.accepted()
                }
                #expect(error?.description == "the message was refused: \(MartletError.attachmentsUnsupported)")
            }
        }
    }

    // M-26
    @Test func `the cancellation of a message with a file → the message behind it is published`() async throws {
        let ids = try await send()
        try await withClient("alice", at: nowhere, outbox: path) { alice in
            let lobby = try await alice.open(room: "lobby", options: .offline)
            #expect(await lobby.message(ids[0])?.cancel() == true)
        }
        try await withRelay(attachments: InMemoryAttachmentStore()) { relay in
            try await withClient("alice", at: relay, outbox: path) { alice in
                let lobby = try await alice.open(room: "lobby", options: .offline)
                #expect(try await lobby.message(ids[1])?.accepted() == 1)
                // With a connection, the client publishes a message with a file and a text in their order, too.
                let message = try await lobby.send(try await OutgoingMessage.file(at: file))
                let text = try await lobby.send("behind it")
                #expect(try await message.accepted() == 2)
                #expect(try await text.accepted() == 3)
            }
        }
    }

    // M-26
    @Test func `a relay that refuses the file → the message fails with its code, and the next is published`()
        async throws
    {
        let ids = try await send()
        var limits = AttachmentLimits.inMemory
        limits.maxByteCount = 1000
        try await withRelay(attachments: InMemoryAttachmentStore(limits: limits)) { relay in
            try await withClient("alice", at: relay, outbox: path) { alice in
                let lobby = try await alice.open(room: "lobby", options: .offline)
                #expect(try await lobby.message(ids[1])?.accepted() == 1)
                #expect(
                    lobby.message(ids[0])?.state == .failed(.refused(.attachmentTooLarge, reason: nil)))
            }
        }
    }

    // M-25
    @Test func `a relative path → the message has the absolute path`() async throws {
        let text = URL(fileURLWithPath: FileManager.default.currentDirectoryPath).path
        let up = String(repeating: "../", count: text.split(separator: "/").count)
        let message = try await OutgoingMessage.file(at: up + file.dropFirst())
        #expect(message.file == "\(text)/\(up)\(file.dropFirst())")
    }

    // M-26
    @Test func `a missing file → no message`() async throws {
        await #expect(throws: MartletError.self) { try await OutgoingMessage.file(at: folder.file("none")) }
    }
}
