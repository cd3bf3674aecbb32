import Martlet
import MartletWire
import Testing

@testable import MartletTimeline

/// Messages that the relay has erased.
@Suite struct ErasedMessageTests {
    // M-37
    @Test func `an erased message without its delete → deleted, without a text`() async throws {
        let script = try await TimelineScript()
        try await script.apply(script.text(1, "a"), script.message(2, try MessageContent(kind: .erased, bytes: [])))
        #expect(try await script.page() == ["a", "deleted"])
    }

    // M-37, M-1
    @Test(arguments: [ContentKind.edit, .reaction])
    func `an erased change → no entry, and not the last message of the room`(kind: ContentKind) async throws {
        let script = try await TimelineScript()
        try await script.apply(script.text(1, "a"), script.message(2, try MessageContent(kind: kind, bytes: [])))
        #expect(try await script.page() == ["a"])
    }
}
