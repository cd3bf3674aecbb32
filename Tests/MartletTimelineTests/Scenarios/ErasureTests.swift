import Foundation
import Martlet
import MartletLink
import MartletWire
import Testing

@testable import MartletTimeline

@Suite("Erasure in a timeline")
struct ErasureTests {
    /// The words that a file of the folder contains.
    private func remains(of words: [String], _ script: TimelineScript) throws -> [String] {
        let path = URL(fileURLWithPath: script.timeline.path).deletingLastPathComponent()
        return try FileManager.default.contentsOfDirectory(atPath: path.path).flatMap { name -> [String] in
            let bytes = try Data(contentsOf: path.appendingPathComponent(name))
            return words.filter { bytes.range(of: Data($0.utf8)) != nil }.map { "\(name): \($0)" }
        }
    }

    // M-29, M-5
    @Test func `a message and its edits that are deleted → in no file, while the timeline is open`() async throws {
        let script = try await TimelineScript()
        try await script.timeline.apply((1...50).map { script.text($0, "neighbour number\($0)") }, in: "a")
        try await script.apply(script.text(51, "zzfirst hunter1"))
        try await script.apply(script.body(52, .edit(of: script.reference(51), text: "zzsecond hunter2")))
        try await script.apply(script.body(53, .reaction("zzthird", to: script.reference(51), isRemoved: false)))
        try await script.apply(script.text(54, "zzfourth 公园没有"))
        try await script.timeline.apply((55...90).map { script.text($0, "neighbour number\($0)") }, in: "a")
        let words = ["zzfirst", "hunter1", "zzsecond", "hunter2", "zzthird", "zzfourth", "没有"]
        #expect(try remains(of: words, script).count >= words.count)
        try await script.apply(
            script.body(91, .delete(script.reference(51))), script.body(92, .delete(script.reference(54))))
        #expect(try remains(of: words, script) == [])
        #expect(try await script.timeline.search("neighbour").count == 50)
    }

    // M-29
    @Test func `a deletion that arrives before its message and its edits → they are never written`() async throws {
        let script = try await TimelineScript()
        try await script.apply(script.body(9, .delete(script.reference(5))))
        try await script.apply(script.body(8, .edit(of: script.reference(5), text: "zzedit")))
        try await script.apply(script.text(5, "zzlate"))
        #expect(try remains(of: ["zzlate", "zzedit"], script) == [])
        #expect(try await script.page() == ["deleted"])
        #expect(try await script.timeline.page(of: "a").first?.isEdited == false)
    }

    // M-29
    @Test func `messages that the relay has erased → deleted, and nothing of a stored one remains`() async throws {
        let script = try await TimelineScript()
        try await script.apply(script.text(1, "zzstored"), script.text(3, "kept"))
        let erased = try MessageContent(kind: ContentKind(rawValue: 0x100F), bytes: [])
        try await script.apply(script.message(1, erased), script.message(2, erased))
        #expect(try await script.page() == ["deleted", "deleted", "kept"])
        #expect(try await script.timeline.unreadCount(of: "a") == 1)
        #expect(try await script.timeline.search("zzstored").isEmpty)
        #expect(try remains(of: ["zzstored"], script) == [])
    }

    // M-29
    @Test func `a pending deletion that fails → the text and its edit remain`() async throws {
        let script = try await TimelineScript()
        try await script.apply(
            script.text(1, "first", by: "ada"),
            script.body(2, .edit(of: script.reference(1, "ada"), text: "second"), by: "ada"))
        let own = script.id(9, "ada")
        try await script.timeline.add(own, try MessageBody.delete(script.reference(1, "ada")).content, in: "a")
        #expect(try await script.page() == ["deleted"])
        try await script.timeline.settle(own, in: "a", as: .failed(.expired))
        #expect(try await script.page() == ["second*"])
    }

    // M-11
    @Test func `a room that is read again by a reader without the moderator → a deleted message stays deleted`()
        async throws
    {
        let script = try await TimelineScript()
        try await script.apply(script.text(1, "zztext"), script.body(2, .delete(script.reference(1)), by: "moderator"))
        #expect(try await script.page() == ["deleted"])
        try await script.timeline.clear("a")
        #expect(try await script.page() == [])
        try await script.timeline.apply(
            [script.text(1, "zztext"), script.body(2, .delete(script.reference(1)), by: "moderator")], in: "a")
        #expect(try await script.page() == ["deleted"])
        #expect(try remains(of: ["zztext"], script) == [])
    }

    // M-29
    @Test func `an unsent message that is discarded, and a room that is removed → in no file`() async throws {
        let script = try await TimelineScript()
        try await script.timeline.add(script.id(1, "ada"), MessageContent(text: "zzdraft"), in: "a")
        try await script.timeline.remove(script.id(1, "ada"), in: "a")
        try await script.timeline.apply([script.text(1, "zzroom")], in: "b")
        try await script.timeline.remove(room: "b")
        #expect(try remains(of: ["zzdraft", "zzroom"], script) == [])
    }

    /// The room `a` in the relay's list, with its last message.
    private func summary(_ offset: UInt64, _ text: String?) throws -> RoomListUpdate {
        let stamp = RelayStamp(offset: offset, acceptedAt: 1, sender: AccountName("bob"), device: DeviceID(rawValue: 7))
        let content = try text.map { MessageContent(text: $0) } ?? MessageContent(kind: .erased, bytes: [])
        let entry = RoomEntry(
            room: RoomName("a"), membership: .joined, log: TimelineScript.log, lastOffset: offset,
            message: Message(counter: offset, content: content, relay: stamp).encode())
        return .changed(try #require(RoomSummary(bytes: RoomUpdate(entry).encode())))
    }

    // M-29
    @Test func `a deletion of the last message of the relay's list → in no file, and a later one is shown`()
        async throws
    {
        let script = try await TimelineScript()
        try await script.timeline.apply(summary(2, "zzlisted"))
        #expect(try await script.timeline.rooms().first?.lastEntry?.content == .message(.text("zzlisted")))
        try await script.apply(script.text(1, "one"), script.text(2, "zzlisted"))
        try await script.apply(script.body(3, .delete(script.reference(2))))
        #expect(try remains(of: ["zzlisted"], script) == [])
        #expect(try await script.timeline.rooms().first?.lastEntry?.content == .deleted)
        try await script.timeline.apply(summary(9, "later"))
        try await script.apply(script.body(4, .delete(script.reference(1))))
        #expect(try await script.timeline.rooms().first?.lastEntry?.content == .message(.text("later")))
    }

    // M-29
    @Test func `a message that the relay's list has as erased → the earlier text is in no file`() async throws {
        let script = try await TimelineScript()
        try await script.timeline.apply(summary(2, "zzlisted"))
        try await script.timeline.apply(summary(2, nil))
        #expect(await script.timeline.truncateLog())
        #expect(try remains(of: ["zzlisted"], script) == [])
    }
}
