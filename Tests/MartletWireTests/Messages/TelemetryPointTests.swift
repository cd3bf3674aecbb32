import Testing

@testable import MartletWire

@Suite struct TelemetryPointTests {
    private let sample = TelemetryPoint(
        "request", tags: [.init("screen", "chat"), .init("cache", "cold")],
        fields: [.init("seconds", 0.25), .init("count", 3), .init("ok", true), .init("text", "a b")], time: -7)

    // R-190
    @Test func `a batch that is encoded → parsed with the same agent and points, keys in order`() throws {
        let other = TelemetryPoint("m", fields: [.init("f", .double(-0.0))], time: .max)
        for agent in [nil, "app 1.0"] {
            let content = TelemetryBatch.encode([sample, other].compactMap(\.validEncoding), of: agent)
            let batch = try TelemetryBatch(parsing: content)
            #expect(batch.agent == agent && batch.points == [sample, other] && batch.invalidCount == 0)
        }
        #expect(sample.tags.map(\.key) == ["cache", "screen"])
        #expect(sample.fields.map(\.key) == ["count", "ok", "seconds", "text"])
    }

    // R-190, R-191
    @Test func `elements that are no valid points → counted, and the others are parsed`() throws {
        let point: [ContentValue] = [.text("m"), .integer(1), .object([]), .object([.init("f", .integer(1))])]
        func changed(_ index: Int, _ value: ContentValue) -> ContentValue {
            var point = point
            point[index] = value
            return .array(point)
        }
        let invalid: [ContentValue] = [
            .null, .array([]), .array(Array(point.dropLast())), .array(point + [.null]), changed(0, .integer(1)),
            changed(1, .double(1)), changed(2, .null), changed(2, .object([.init("k", .integer(1))])),
            changed(3, .object([])), changed(3, .object([.init("f", .null)])),
            changed(3, .object([.init("f", .unsigned(.max))])), changed(3, .object([.init("f", .double(.nan))])),
        ]
        let content = try ContentValue.array([.text("app")] + invalid + [.array(point)]).encode()
        let batch = try TelemetryBatch(parsing: content)
        #expect(batch.invalidCount == invalid.count && batch.points.count == 1)
    }

    // R-190
    @Test func `contents that are no batches → errors`() throws {
        let long = ContentValue.text(String(repeating: "a", count: 129))
        for value in [ContentValue.array([]), .array([.integer(1)]), .array([long]), .null, .object([])] {
            let content = try value.encode()
            #expect(throws: WireError.self) { try TelemetryBatch(parsing: content) }
        }
        #expect(throws: WireError.self) { try TelemetryBatch(parsing: nil) }
        #expect(throws: WireError.self) { try TelemetryBatch(parsing: [1, 2, 3]) }
    }

    // R-191
    @Test func `names and values at and beyond each bound → valid and not`() {
        func isValid(
            _ measurement: String = "m", _ tags: [TelemetryPoint.Tag] = [],
            _ fields: [TelemetryPoint.Field] = [.init("f", 1)]
        ) -> Bool {
            TelemetryPoint(measurement, tags: tags, fields: fields, time: 0).isValid
        }
        func text(_ count: Int) -> String { String(repeating: "a", count: count) }
        for name in ["m", "a b", "é", text(64), "a_", "a#", "a\\b"] {
            #expect(isValid(name) && isValid("m", [.init(name, "v")]) && isValid("m", [], [.init(name, 1)]))
        }
        for name in ["", text(65), "a\nb", "a\u{7F}", "_m", "#m", "m\\", "time"] {
            #expect(!isValid(name) && !isValid("m", [.init(name, "v")]) && !isValid("m", [], [.init(name, 1)]))
        }
        #expect(isValid("m", [.init("k", text(128))]) && !isValid("m", [.init("k", text(129))]))
        #expect(!isValid("m", [.init("k", "")]) && !isValid("m", [.init("k", "a\tb")]))
        #expect(!isValid("m", [.init("k", "a"), .init("k", "b")]) && !isValid("m", [], []))
        let tags = (0...16).map { TelemetryPoint.Tag("k\($0)", "v") }
        #expect(isValid("m", Array(tags.dropLast())) && !isValid("m", tags))
        let fields = (0...32).map { TelemetryPoint.Field("f\($0)", true) }
        #expect(isValid("m", [], Array(fields.dropLast())) && !isValid("m", [], fields))
        #expect(isValid("m", [], [.init("f", .text(text(512)))]) && !isValid("m", [], [.init("f", .text(text(513)))]))
        #expect(isValid("m", [], [.init("f", "a\nb")]) && !isValid("m", [], [.init("f", "\0")]))
        #expect(!isValid("m", [], [.init("f", .double(.infinity))]))
        // Each part is within its bound, and the whole is not.
        #expect(!isValid("m", [], [.init("a", .text(text(500))), .init("b", .text(text(500)))]))
    }

    // R-191
    @Test func `series → differ by measurement, keys and values of tags`() {
        func series(_ measurement: String, _ tags: [TelemetryPoint.Tag]) -> [UInt8] {
            TelemetryPoint(measurement, tags: tags, fields: [.init("f", 1)], time: 0).series
        }
        #expect(series("m", [.init("a", "1"), .init("b", "2")]) == series("m", [.init("b", "2"), .init("a", "1")]))
        let all = [series("m", []), series("n", []), series("m", [.init("a", "1")]), series("m", [.init("a1", "")])]
        #expect(Set(all).count == all.count)
    }
}
