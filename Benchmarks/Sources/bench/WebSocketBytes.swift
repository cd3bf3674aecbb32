import CBaselines

/// A chat message as JSON over a WebSocket with permessage-deflate and context takeover in both directions (RFC 6455,
/// RFC 7692), and the JSON of its acknowledgement.
enum WebSocketBytes {
    /// The mean bytes of a message, including framing, masking and acknowledgement.
    static func mean(_ texts: [String], sender: String, room: String) -> Double {
        let up = MessageStream()
        let down = MessageStream()
        var total = 0
        for (index, text) in texts.enumerated() {
            // Random 128-bit IDs, as such protocols use; the generator is deterministic.
            let id = identifier(UInt64(index))
            let time = 1_789_000_000_000 + index * 1_731
            let message =
                #"{"type":"message","id":"\#(id)","sender":"\#(sender)","room":"\#(room)","time":\#(time),"#
                + #""text":"\#(escaped(text))"}"#
            let answer = #"{"type":"ack","id":"\#(id)","offset":\#(index + 1),"time":\#(time + 12)}"#
            // The mask of a client's frame has four bytes.
            total += framed(up.byteCount(of: message)) + 4 + framed(down.byteCount(of: answer))
        }
        return Double(total) / Double(texts.count)
    }

    private static func framed(_ count: Int) -> Int { count + (count < 126 ? 2 : 4) }

    private static func identifier(_ number: UInt64) -> String {
        let words = [mixed(2 * number), mixed(2 * number + 1)]
        let digits = words.map { word in
            let text = String(word, radix: 16)
            return String(repeating: "0", count: 16 - text.count) + text
        }
        return digits.joined()
    }

    /// The finalizer of SplitMix64.
    private static func mixed(_ number: UInt64) -> UInt64 {
        var word = number &* 0x9E37_79B9_7F4A_7C15 &+ 0x9E37_79B9_7F4A_7C15
        word = (word ^ (word >> 30)) &* 0xBF58_476D_1CE4_E5B9
        word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
        return word ^ (word >> 31)
    }

    private static func escaped(_ text: String) -> String {
        text.reduce(into: "") { result, character in
            switch character {
            case "\"": result += "\\\""
            case "\\": result += "\\\\"
            case "\n": result += "\\n"
            case "\t": result += "\\t"
            default: result.append(character)
            }
        }
    }
}

// One object owns the context exclusively.
@safe
private final class MessageStream {
    private let stream: OpaquePointer

    init() {
        unsafe stream = baseline_stream_create(6, 15, 8)
    }

    deinit {
        unsafe baseline_stream_destroy(stream)
    }

    func byteCount(of text: String) -> Int {
        let bytes = Array(text.utf8)
        return unsafe bytes.withUnsafeBufferPointer { unsafe baseline_stream_add(stream, $0.baseAddress!, $0.count) }
    }
}
