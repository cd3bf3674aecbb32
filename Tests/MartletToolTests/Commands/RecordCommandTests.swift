import Martlet
import Testing

@testable import MartletTool

@Suite struct RecordCommandTests {
    @Test func `texts of fields → values of the type that they have`() {
        let cases: [(String, TelemetryValue)] = [
            ("3", .integer(3)), ("-9223372036854775808", .integer(.min)), ("3.0", .double(3)), ("-1e3", .double(-1000)),
            ("9223372036854775808", .double(9_223_372_036_854_775_808)), ("true", .bool(true)), ("false", .bool(false)),
            ("True", .text("True")), ("", .text("")), ("nan", .text("nan")), ("infinity", .text("infinity")),
            ("3s", .text("3s")), ("a b", .text("a b")),
        ]
        for (text, value) in cases { #expect(RecordCommand.value(text) == value) }
    }

    @Test func `a pair → the parts before and after the first equals sign`() throws {
        #expect(try #require(RecordCommand.pair("a=b=c")) == ("a", "b=c"))
        #expect(try #require(RecordCommand.pair("a=")) == ("a", ""))
        #expect(RecordCommand.pair("=a") == nil && RecordCommand.pair("a") == nil && RecordCommand.pair("") == nil)
    }
}
