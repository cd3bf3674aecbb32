import MartletWire
import Testing

@testable import MartletLink

@Suite struct SessionPresetTests {
    // W-55, S-43, S-45, S-51
    @Test func `signalling precedes chat, chat precedes media, and files are last`() {
        let kinds: [SessionKind] = [.signaling, .chat, .media, .file]
        #expect(kinds.map { SessionPreset($0).priority } == [.urgent, .high, .normal, .low])
        #expect(kinds.map { SessionPreset($0).priority.isBulk } == [false, false, true, true])
        // Specs/wire.md §8
        #expect(kinds.map { SessionPreset($0).windowByteCount >> 10 } == [64, 256, 512, 1024])
    }
}
