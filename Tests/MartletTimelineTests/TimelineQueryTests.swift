import Testing

@testable import MartletTimeline

@Suite("Queries of a search")
struct TimelineQueryTests {
    @Test(arguments: [
        ("two Words", "(text : \"two\") AND (text : \"Words\" *)"),
        ("a\" OR b*", "(text : \"a\") AND (text : \"OR\") AND (text : \"b\" *)"),
    ])
    func `a text → an expression with its words`(text: String, expression: String) {
        #expect(TimelineQuery(text)?.expression(room: nil) == expression)
        #expect(TimelineQuery(text)?.expression(room: 5) == expression + " AND (room : \"5\")")
    }

    @Test func `a text without words → none; many and long words → within the bounds`() {
        #expect(TimelineQuery("") == nil && TimelineQuery("… \"*") == nil)
        let words = TimelineQuery(String(repeating: "é ", count: 50))?.expression(room: nil)
        #expect(words?.split(separator: " AND ").count == TimelineQuery.maxWordCount)
        let long = TimelineQuery(String(repeating: "é", count: 500))?.expression(room: nil)
        #expect(long == "(text : \"\(String(repeating: "é", count: 64))\" *)")
    }
}
