import Martlet
import MartletLink
import MartletSQLite
import MartletWire
import Testing

@testable import MartletTimeline

/// The end of the process at each step between a command, the outbox, the relay and the timeline. The next process
/// begins with the files as they are after that step.
@Suite("Restarts of a synchronization", .timeLimit(.minutes(10)))
struct SyncRestartTests {
    /// A life whose files are used by a later one. The synchronization of the room does not run.
    private func end(
        _ files: FileImage, at relay: String = nowhere, after body: (SyncLife, SyncedRoom) async throws -> Void
    ) async throws {
        try await SyncLife.run(files, at: relay, isRunning: false) { life in
            try await body(life, try await life.sync.open(room: "a"))
        }
    }

    private func restart(
        _ files: FileImage, at relay: String, until matches: ([String]) -> Bool
    ) async throws -> [TimelineEntry] {
        try await SyncLife.run(files, at: relay) { life in
            let room = try await life.sync.open(room: "a")
            let page = try await life.page(until: matches)
            for handle in room.room.pending { _ = try await handle.accepted() }
            return page
        }
    }

    @Test func `stored in the outbox and not shown → shown, and accepted once`() async throws {
        let files = FileImage()
        try await end(files) { _, room in try await room.room.send("1") }
        try await SyncLife.run(files, at: nowhere) { life in
            _ = try await life.sync.open(room: "a")
            #expect(try await life.timeline.page(of: "a").map(TimelineScript.short) == ["1…"])
        }
        try await withRelay { relay in
            _ = try await restart(files, at: relay) { $0 == ["1"] }
            #expect(try await texts(at: relay) == ["1"])
        }
    }

    @Test func `accepted and neither shown nor settled → accepted once, at its place`() async throws {
        try await withRelay { relay in
            let files = FileImage()
            try await end(files, at: relay) { _, room in _ = try await room.room.send("1").accepted() }
            try await publish("2", at: relay)
            let page = try await restart(files, at: relay) { $0 == ["1", "2"] }
            #expect(page.map(\.offset) == [1, 2])
        }
    }

    @Test func `shown and accepted, without its outcome → accepted, also without a connection`() async throws {
        try await withRelay { relay in
            let files = FileImage()
            try await end(files, at: relay) { _, room in
                let id = try await room.send("1")
                _ = try await room.room.message(id)?.accepted()
                // The outbox stores a later message after the outcome, or with it.
                _ = try await room.send("2")
            }
            try await SyncLife.run(files, at: nowhere) { life in
                _ = try await life.sync.open(room: "a")
                #expect(try await life.timeline.page(of: "a").first.map(TimelineScript.short) == "1")
            }
            let page = try await restart(files, at: relay) { $0 == ["1", "2"] }
            #expect(page.map(\.offset) == [1, 2])
        }
    }

    @Test func `applied from the log, without the outcome in the outbox → accepted once`() async throws {
        try await withRelay { relay in
            let files = FileImage()
            var image: FileImage?
            try await end(files, at: nowhere) { _, room in try await room.send("1") }
            image = try files.copy()
            try await SyncLife.run(files, at: relay) { life in
                _ = try await life.sync.open(room: "a")
                try await life.page { $0 == ["1"] }
            }
            // The outbox is that of before the acceptance, the timeline that of after it.
            let mixed = try #require(image)
            try await mixed.replaceTimeline(by: files)
            _ = try await restart(mixed, at: relay) { $0 == ["1"] }
            #expect(try await texts(at: relay) == ["1"])
        }
    }

    /// The files of a life whose message "1" the relay has accepted, and those of a life in which it has failed.
    private func letterOfAcceptedMessage(at relay: String) async throws -> (FileImage, accepted: FileImage) {
        let accepted = FileImage()
        try await end(accepted) { _, room in try await room.send("1") }
        let failed = try accepted.copy()
        _ = try await restart(accepted, at: relay) { $0 == ["1"] }
        try await end(failed) { life, room in
            await life.sync.close(room: "a")
            let letters = try await room.room.deadLetters()
            #expect(letters.map(\.failure) == [.closed])
        }
        return (failed, accepted)
    }

    // C-77
    @Test func `failed in the outbox, and received from the log → accepted, no longer unsent, not retried`()
        async throws
    {
        try await withRelay { relay in
            let (files, _) = try await letterOfAcceptedMessage(at: relay)
            for address in [relay, nowhere] {
                try await SyncLife.run(files, at: address) { life in
                    let room = try await life.sync.open(room: "a")
                    let entry = try #require(try await life.page { $0 == ["1"] }.first)
                    #expect(entry.offset == 1 && room.unsent.isEmpty)
                    #expect(try await room.room.deadLetters().isEmpty)
                    #expect(try await room.retry(try #require(entry.message)) == nil)
                }
            }
            #expect(try await texts(at: relay) == ["1"])
        }
    }

    // C-77
    @Test func `failed in the outbox and accepted in the timeline → no longer unsent, neither retried nor discarded`()
        async throws
    {
        try await withRelay { relay in
            let (files, accepted) = try await letterOfAcceptedMessage(at: relay)
            try await files.replaceTimeline(by: accepted)
            try await end(files) { life, room in
                let id = try #require(try await life.timeline.page(of: "a").first?.message)
                #expect(room.unsent.isEmpty)
                #expect(try await room.room.deadLetters().isEmpty)
                #expect(try await room.retry(id) == nil)
                #expect(try await room.discard(id) == false)
                #expect(try await life.timeline.page(of: "a").map(TimelineScript.short) == ["1"])
            }
        }
    }

    @Test func `failed in the outbox and pending in the timeline → failed, with the reason`() async throws {
        let files = FileImage()
        try await end(files) { life, room in
            try await room.send("1")
            await life.sync.close(room: "a")
        }
        let page = try await restart(files, at: nowhere) { $0 == ["1!"] }
        #expect(page.first?.state == .failed(.closed))
    }

    @Test func `pending in the timeline and unknown to the outbox → failed, unless the log has the message`()
        async throws
    {
        try await withRelay { relay in
            let files = FileImage()
            try await end(files, at: relay) { life, room in
                // The timeline does not learn the acceptance.
                let message = try await room.room.send("1")
                try await life.timeline.add(message.id, MessageContent(text: "1"), in: "a")
                _ = try await message.accepted()
                let lost = MessageID(sender: AccountName("ada"), device: DeviceID(rawValue: 9), counter: 7)
                try await life.timeline.add(lost, MessageContent(text: "2"), in: "a")
            }
            let other = FileImage()
            try await other.replaceTimeline(by: files)
            try await SyncLife.run(other, at: nowhere) { life in
                _ = try await life.sync.open(room: "a")
                #expect(try await life.timeline.page(of: "a").map(TimelineScript.short) == ["1!", "2!"])
                #expect(try await life.timeline.page(of: "a").last?.state == .failed(.outcomeUnknown))
            }
            _ = try await restart(other, at: relay) { $0 == ["1", "2!"] }
        }
    }

    @Test func `a retry that was marked and not stored → performed; one that was stored → not again`() async throws {
        let files = FileImage()
        var failed: MessageID?
        try await end(files) { life, room in
            failed = try await room.send("1")
            await life.sync.close(room: "a")
        }
        let id = try #require(failed)
        try await end(files) { _, room in try await room.perform([.mark(id, .retry)]) }
        let image = try files.copy()
        try await end(image) { life, room in
            #expect(room.unsent.map(\.content.text) == ["1"] && room.unsent.allSatisfy { $0.failure == nil })
            let page = try await life.timeline.page(of: "a")
            #expect(page.map(TimelineScript.short) == ["1…"])
        }
        let stored = FileImage()
        try await stored.replaceTimeline(by: files)
        try await stored.replaceOutbox(by: image)
        try await withRelay { relay in
            _ = try await restart(stored, at: relay) { $0 == ["1"] }
            #expect(try await texts(at: relay) == ["1"])
        }
    }

    @Test func `a removal that was marked → performed: cancelled, discarded, or deleted for all`() async throws {
        try await withRelay { relay in
            for isAccepted in [false, true] {
                let files = FileImage()
                let address = isAccepted ? relay : nowhere
                try await end(files, at: address) { life, room in
                    // The timeline does not learn the acceptance.
                    let id = try await room.room.send("1").id
                    try await room.perform([.add(id, MessageContent(text: "1")), .mark(id, .removal)])
                    guard isAccepted else { return }
                    _ = try await room.room.message(id)?.accepted()
                    // The outbox stores a later message after the outcome, or with it.
                    try await room.send("2")
                }
                _ = try await restart(files, at: address) { $0 == (isAccepted ? ["deleted", "2"] : []) }
            }
            #expect(try await texts(at: relay).count == 3)
        }
    }

    /// The files after each transaction of the outbox and after each command, of a life with all commands.
    @Test func `the end of the process after any transaction → the same timeline and log, each message once`()
        async throws
    {
        try await withRelay { relay in
            let files = FileImage()
            let images = Images(files)
            try await SyncLife.run(files, at: relay, outbox: { ImagingOutbox($0, images) }) { life in
                let room = try await life.sync.open(room: "a")
                for number in 1...4 {
                    let id = try await room.send("\(number)")
                    images.take()
                    try await publish("b\(number)", at: relay)
                    if number == 2 { try await room.edit(MessageReference(id), text: "two") }
                    if number == 3 { try await room.react("!", to: MessageReference(id)) }
                    images.take()
                }
                try await life.page { $0.count == 8 && $0.allSatisfy { !$0.contains("…") } }
                images.take()
            }
            let log = try await texts(at: relay)
            for image in images.all {
                let page = try await restart(image, at: relay) {
                    $0.count == 8 && $0.filter { $0.contains("two") && !$0.contains("…") }.count == 1
                        && $0.contains("3 !1+") && $0.allSatisfy { !$0.contains("…") }
                }
                #expect(Set(page.compactMap(\.message)).count == 8 && page.compactMap(\.offset).count == 8)
            }
            #expect(images.all.count > 8)
            #expect(try await texts(at: relay) == log)
        }
    }
}
