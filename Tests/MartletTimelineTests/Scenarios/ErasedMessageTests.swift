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
}
