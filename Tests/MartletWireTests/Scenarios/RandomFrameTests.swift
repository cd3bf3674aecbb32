import MartletWire
import Testing

@Suite("Frames at random")
struct RandomFrameTests {
    @Test("come back from their bytes", arguments: FrameType.registered)
    func roundTrip(_ type: FrameType) throws {
        var random = SeededRandom(seed: UInt64(type.rawValue))
        for _ in 0..<200 {
            let made = random.frame(type)
            let frame = try #require(made)
            #expect(frame.type == type)
            #expect(try Frame.parse(type: type, body: frame.encode().rawBytes) == frame)
        }
    }

    @Test("read bytes at random without a trap", arguments: FrameType.registered)
    func noise(_ type: FrameType) {
        var random = SeededRandom(seed: UInt64(type.rawValue) + 1)
        for _ in 0..<500 {
            let body = bytes(
                of: random.some(0...12) { random in
                    let tag = Tag(rawValue: UInt16.random(in: 0...0x90, using: &random) | (random.chance() ? 0 : 0x100))
                    return Field(tag, random.some(0...20) { UInt8.random(in: 0...2, using: &$0) })
                })
            guard let frame = try? Frame.parse(type: type, body: body.rawBytes) else { continue }
            #expect((try? Frame.parse(type: type, body: frame.encode().rawBytes)) == frame)
        }
    }
}
