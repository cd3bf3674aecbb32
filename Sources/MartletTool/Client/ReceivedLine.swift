import Martlet
import MartletAuthentication
import MartletToolSupport

/// The output of a received message.
enum ReceivedLine {
    /// Returns the bytes of the line; none for messages that are no lines. On a terminal control characters are shown
    /// as text.
    static func text(_ message: RoomMessage, isTerminal: Bool) -> [UInt8] {
        guard let content = LineContent(kind: message.kind, content: message.content.bytes) else { return [] }
        if !isTerminal { return content.output }
        let lines = SafeText.lines(String(decoding: content.output, as: UTF8.self))
        return Array(lines.joined(separator: "\n").utf8)
    }

    /// Returns the message as a JSON object in a line.
    static func json(_ message: RoomMessage) -> [UInt8] {
        var members: [JSONLine.Member] = [
            .init("offset", .count(message.offset)), .init("sender", .string(message.sender.text)),
            .init("time", .count(message.acceptedAt)),
            .init("device", .string(String(message.id.device.rawValue, radix: 16))),
            .init("counter", .count(message.id.counter)), .init("kind", .count(message.kind.rawValue)),
        ]
        switch LineContent(kind: message.kind, content: message.content.bytes) {
        case .text(let text)?: members.append(.init("text", .string(text)))
        case .bytes(let bytes)?: members.append(.init("data", .string(Base64.encode(bytes, .standard))))
        case nil: members.append(.init("content", .string(Base64.encode(message.content.bytes, .standard))))
        }
        return Array((JSONLine.object(members).text + "\n").utf8)
    }

    /// Returns a gap as a JSON object in a line.
    static func json(gap: ClosedRange<UInt64>) -> [UInt8] {
        let range: [JSONLine] = [.count(gap.lowerBound), .count(gap.upperBound)]
        return Array((JSONLine.object([.init("gap", .array(range))]).text + "\n").utf8)
    }
}
