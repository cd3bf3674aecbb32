import Martlet
import MartletDatabase
import MartletLink
import MartletWire
import Testing

@testable import MartletTimeline

@Suite("Terms of a search")
struct SearchTextTests {
    private static let texts = [
        "今天天气很好我们去公园", "東京タワーに行きました", "สวัสดีพรุ่งนี้เจอกัน", "오늘 날씨가 좋네요", "great👍🏽 work", "C++ and C#",
        "c is a letter", "Grüße aus München", "Muenchen und Strasse", "die Straße",
        "cafe\u{301} nai\u{308}ve", "वह हिन्दी बोलता है", "مُحَمَّد هنا", "error E-4012 in module_x",
        "foo@bar.com wrote", "Bob’s car", "I ❤️ pizza",
    ]

    @Test(arguments: [
        ("今天", [0]), ("天气", [0]), ("公园", [0]), ("园", [0]), ("天", [0]), ("气天", []), ("东京", []), ("東京", [1]),
        ("タワー", [1]), ("พรุ่งนี้", [2]), ("날씨", [3]), ("👍", [4]), ("great👍", [4]), ("❤", [16]), ("C++", [5]),
        ("c#", [5]), ("c+++", []), ("münchen", [8, 7]), ("munchen", [7]), ("muenchen", [8, 7]), ("grusse", [7]),
        ("straße", [9, 8]), ("strasse", [9, 8]), ("cafe", [10]), ("café", [10]), ("cafe\u{301}", [10]), ("naïve", [10]),
        ("हिन्दी", [11]), ("हिन्", [11]), ("محمد", [12]), ("4012", [13]), ("E-4012", [13]), ("module_x", [13]),
        ("bar.com", [14]), ("foo@bar.com", [14]), ("com bar", [14]), ("bob's", [15]), ("bob’s c", [15]), ("*", []),
        ("pizza ❤️", [16]),
    ])
    func `texts of several scripts → those with the words of the search`(query: String, found: [Int]) async throws {
        let script = try await TimelineScript()
        let items = Self.texts.enumerated().map { script.text(UInt64($0 + 1), $1) }
        try await script.timeline.apply(items, in: "a")
        let offsets = try await script.timeline.search(query, in: "a").compactMap(\.entry.offset)
        #expect(offsets == found.map { UInt64($0 + 1) })
    }

    @Test func `a file with a caption → found by the caption and by the name, also after an edit`() async throws {
        let script = try await TimelineScript()
        var attachment = Attachment(data: [1])
        (attachment.name, attachment.caption) = ("budget-2026.xlsx", "the hippo")
        try await script.apply(script.body(1, .attachment(attachment)))
        #expect(try await script.timeline.search("budget").count == 1)
        #expect(try await script.timeline.search("hippo").count == 1)
        try await script.apply(script.body(2, .edit(of: script.reference(1), text: "the lion")))
        #expect(try await script.timeline.search("budget-2026.xlsx lion").count == 1)
        #expect(try await script.timeline.search("hippo").isEmpty)
        #expect(try await script.timeline.page(of: "a").first?.isEdited == true)
    }

    @Test func `an edit that keeps a word → found by the word and by the new one`() async throws {
        let script = try await TimelineScript()
        try await script.apply(script.text(1, "hello world"))
        try await script.apply(script.body(2, .edit(of: script.reference(1), text: "hello there")))
        for query in ["hello", "there", "hello there"] {
            #expect(try await script.timeline.search(query).count == 1)
        }
        #expect(try await script.timeline.search("world").isEmpty)
    }

    @Test func `words that the tokenizer finds by itself → no terms`() {
        for text in ["hello, world!", "it's 5 o'clock", "Привет мир", "naïve"] {
            #expect(SearchText.terms(of: text, name: nil).isEmpty)
        }
        #expect(SearchText.terms(of: "天气好 C", name: nil) == "天气 气好 好 C")
        #expect(SearchText.terms(of: "hello", name: "a.txt") == "hello a txt")
    }

    @Test func `a file of an earlier version → its texts are found by all terms, and removed with them`() async throws {
        let script = try await TimelineScript()
        try await script.timeline.apply(
            [script.text(1, "今天天气很好"), script.text(2, "plain words"), script.text(3, "C++")], in: "a")
        await script.timeline.close()
        do {
            // Version 4 had no terms: its rows were indexed with their texts.
            let database = try Database(path: script.timeline.path)
            try database.execute(
                """
                DROP TRIGGER entry_inserted; DROP TRIGGER entry_reindexed; DROP TRIGGER entry_deleted;
                DROP INDEX entry_without_terms;
                INSERT INTO entry_text (entry_text) VALUES ('delete-all');
                ALTER TABLE entry DROP COLUMN terms;
                INSERT INTO entry_text (rowid, text, room) SELECT id, text, room FROM entry;
                CREATE TRIGGER entry_inserted AFTER INSERT ON entry BEGIN SELECT 1; END;
                CREATE TRIGGER entry_unindexed AFTER UPDATE ON entry BEGIN SELECT 1; END;
                CREATE TRIGGER entry_indexed AFTER UPDATE ON entry BEGIN SELECT 1; END;
                CREATE TRIGGER entry_deleted AFTER DELETE ON entry BEGIN SELECT 1; END;
                PRAGMA user_version=4;
                """)
        }
        let timeline = try await Timeline(path: script.timeline.path, account: AccountName("ada"))
        #expect(timeline.setAsidePath == nil)
        for (query, offset) in [("天气", 1), ("words", 2), ("C++", 3)] {
            #expect(try await timeline.search(query).map(\.entry.offset) == [UInt64(offset)])
        }
        try await timeline.apply([script.body(4, .delete(script.reference(1)))], in: "a")
        #expect(try await timeline.search("天气").isEmpty)
        #expect(try await timeline.search("今天天气很好").isEmpty)
        await timeline.close()
    }
}
