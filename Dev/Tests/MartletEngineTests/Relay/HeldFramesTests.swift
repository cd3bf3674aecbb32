import MartletWire
import Testing

@testable import MartletLink
@testable import MartletRelay

@Suite struct HeldFramesTests {
    @Test func `held frames are returned in order with their credit`() throws {
        var held = HeldFrames()
        let bodies: [[UInt8]] = [[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12], [], [9]]
        let types: [FrameType] = [.data, .receipt, .cancel]
        for (type, body) in zip(types, bodies) {
            let isHeld = held.append(type, body.rawBytes, credit: type == .data ? 12 : 0)
            #expect(isHeld)
        }
        #expect(held.creditByteCount == 12)
        #expect(held.uncreditedCost == 2 * HeldFrames.overheadByteCount + 1)
        for (type, body) in zip(types, bodies) {
            let first = held.popFirst()
            let frame = try #require(first)
            #expect(frame.type == type && frame.body == body && frame.credit == (type == .data ? 12 : 0))
        }
        #expect(held.isEmpty && held.creditByteCount == 0)
    }

    //
    @Test func `the shortest messages are held for their credit, a frame of one byte is not`() {
        var held = HeldFrames()
        let shortest = Message.encodeClient(counter: 1, kind: .text, content: Message.textContent("a"))
        for _ in 0..<1000 {
            let isHeld = held.append(.data, shortest.rawBytes, credit: shortest.count)
            #expect(isHeld)
        }
        var hostile = HeldFrames()
        let byte: [UInt8] = [1]
        let isHeld = hostile.append(.data, byte.rawBytes, credit: 1)
        #expect(!isHeld)
        #expect(hostile.isEmpty && hostile.creditByteCount == 0)
    }
}
