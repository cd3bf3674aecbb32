import MartletWire
import Testing

@Suite("Random frames")
struct RandomFrameTests {
    @Test("A random frame equals its parsed encoding", arguments: FrameType.registered)
    func roundTrip(_ type: FrameType) throws {
        var random = SeededRandom(seed: UInt64(type.rawValue))
        for _ in 0..<200 {
            let made = random.frame(type)
            let frame = try #require(made)
            #expect(frame.type == type)
            #expect(try Frame.parse(type: type, body: frame.encode().rawBytes) == frame)
        }
    }

    @Test("Parsing random bytes gives a frame or an error and never traps", arguments: FrameType.registered)
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
