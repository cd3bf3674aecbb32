import MartletWire
import Testing

@testable import MartletWebSocket

@Suite("The writer of WebSocket frames")
struct WebSocketWriterTests {
    private func frame(_ payload: [UInt8], behind before: [UInt8] = [], key: UInt32?) -> (bytes: [UInt8], isFrame: Bool)
    {
        var isFrame = false
        let bytes = [UInt8](capacity: before.count + payload.count + 8) { buffer in
            buffer.append(bytes: before.rawBytes)
            let start = buffer.byteCount
            WebSocketWriter.reserve(in: &buffer, isMasked: key != nil)
            buffer.append(bytes: payload.rawBytes)
            isFrame = WebSocketWriter.seal(&buffer, from: start, key: key)
        }
        return (bytes, isFrame)
    }

    private func bytes(_ count: Int) -> [UInt8] { (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31) } }

    @Test("the examples of RFC 6455 §5.7, as binary messages")
    func examples() {
        let hello = Array("Hello".utf8)
        #expect(frame(hello, key: nil).bytes == [0x82, 0x05, 0x48, 0x65, 0x6C, 0x6C, 0x6F])
        #expect(
            frame(hello, key: 0x37FA_213D).bytes
                == [0x82, 0x85, 0x37, 0xFA, 0x21, 0x3D, 0x7F, 0x9F, 0x4D, 0x51, 0x58])
        #expect(frame(bytes(256), key: nil).bytes == [0x82, 0x7E, 0x01, 0x00] + bytes(256))
        #expect(
            WebSocketWriter.pong(hello, key: 0x37FA_213D)
                == [0x8A, 0x85, 0x37, 0xFA, 0x21, 0x3D, 0x7F, 0x9F, 0x4D, 0x51, 0x58])
        #expect(WebSocketWriter.close(.goingAway, key: nil) == [0x88, 0x02, 0x03, 0xE9])
    }

    // C-120
    @Test("a payload of each form of the length -> a frame that the reader reads, with and without a mask")
    func lengths() {
        for count in [1, 2, 7, 8, 9, 124, 125, 126, 127, 1_000, 65_534, 65_535] {
            for key in [nil, 0x0102_0304, 0xFFFF_FFFF] as [UInt32?] {
                let (stream, isFrame) = frame(bytes(count), key: key)
                #expect(isFrame)
                let outcome = ReadOutcome(reading: stream, ofClient: key != nil)
                #expect(outcome == ReadOutcome(data: bytes(count)))
            }
        }
    }

    @Test("no payload -> no bytes, behind others")
    func empty() {
        for key in [nil, 7] as [UInt32?] {
            let (bytes, isFrame) = frame([], behind: [1, 2, 3], key: key)
            #expect(bytes == [1, 2, 3])
            #expect(!isFrame)
        }
    }
}
