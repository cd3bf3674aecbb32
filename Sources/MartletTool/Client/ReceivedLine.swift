import Martlet
import MartletAuthentication
import MartletDecode
import MartletToolSupport

/// The output of a received message.
enum ReceivedLine {
    /// Returns the bytes of the line; none for a message that is not a line. On a terminal control characters are shown
    /// as text.
    static func text(_ message: RoomMessage, isTerminal: Bool) -> [UInt8] {
        guard let content = LineContent(kind: message.kind, content: message.content.bytes) else { return [] }
        if !isTerminal { return content.output }
        let lines = SafeText.lines(String(decoding: content.output, as: UTF8.self))
        return Array(lines.joined(separator: "\n").utf8)
    }

    /// Returns the line of an earlier message with the effects of changes: its offset, account, label and text.
    static func history(
        _ message: RoomMessage, _ effects: MessageEffects, name: (MessageID) -> String
    ) -> String {
        let original = try? message.body
        let present = original.flatMap { effects.body(of: $0) }
        var parts = MessageParts(message.content, present, name: name)
        let isDeleted = effects.isDeleted || message.content.isErased  // M-37
        if isDeleted { parts = MessageParts(label: "deleted") }
        var labels = parts.label.map { [$0] } ?? []
        if present != original, !isDeleted { labels.append("edited") }
        var counts: [(text: String, count: Int)] = []
        for reaction in effects.reactions {
            let text = EscapedText.quoted(reaction.text)
            if let index = counts.firstIndex(where: { $0.text.utf8.elementsEqual(text.utf8) }) {
                counts[index].count += 1
            } else {
                counts.append((text, 1))
            }
        }
        labels += counts.map { "\($0.text) \($0.count)" }
        parts.label = labels.isEmpty ? nil : labels.joined(separator: ", ")
        return "\(message.offset) \(EscapedText.name(message.sender.text)): \(parts.line)"
    }

    /// Returns the message as a JSON object in a line, with the effects of changes.
    ///
    /// - Parameter receivedAt: The time in milliseconds since 1970; nil for an earlier message.
    static func json(
        _ message: RoomMessage, _ effects: MessageEffects = MessageEffects(), receivedAt: UInt64? = nil
    ) -> [UInt8] {
        let original = try? message.body
        var members: [JSONLine.Member] = [
            .init("offset", .count(message.offset)), .init("sender", .string(message.sender.text)),
            .init("time", .count(message.acceptedAt)),
            .init("device", .string(String(message.id.device.rawValue, radix: 16))),
            .init("counter", .count(message.id.counter)), .init("kind", .count(message.kind.rawValue)),
            .init("type", .string(message.kind.typeName)),
        ]
        if let receivedAt { members.append(.init("receivedAt", .count(receivedAt))) }
        let isDeleted = effects.isDeleted || message.content.isErased
        if original == nil, !isDeleted { members.append(.init("damaged", .bool(true))) }
        let present = original.flatMap { effects.body(of: $0) }
        switch LineContent(kind: message.kind, content: message.content.bytes) {
        case _ where isDeleted: members.append(.init("deleted", .bool(true)))
        case _ where present != original: members.append(.init("edited", .bool(true)))
        case .text(let text)?: if original == nil { members.append(.init("text", .string(text))) }
        case .bytes(let bytes)?: members.append(.init("data", .string(Base64.encode(bytes, .standard))))
        case nil: members.append(.init("content", .string(Base64.encode(message.content.bytes, .standard))))
        }
        if let present { members += fields(of: present) }
        if !effects.reactions.isEmpty {
            let reactions = effects.reactions.map { reaction in
                JSONLine.object([
                    .init("reaction", .string(reaction.text)), .init("account", .string(reaction.author.text)),
                ])
            }
            members.append(.init("reactions", .array(reactions)))
        }
        return Array((JSONLine.object(members).text + "\n").utf8)
    }

    /// The members that a body has apart from its kind.
    private static func fields(of body: MessageBody) -> [JSONLine.Member] {
        switch body {
        case .text(let text): [.init("text", .string(text))]
        case .edit(let target, let text), .reply(let target, let text): [member(target), .init("text", .string(text))]
        case .delete(let target): [member(target)]
        case .reaction(let reaction, let target, let isRemoved):
            [member(target), .init("reaction", .string(reaction)), .init("removed", .bool(isRemoved))]
        case .system(let event, let text): [.init("event", .string(event.text))] + optional("text", text)
        case .attachment(let attachment):
            [.init("byteCount", .count(attachment.byteCount))] + optional("name", attachment.name)
                + optional("mediaType", attachment.mediaType) + optional("text", attachment.caption)
        case .card(let card): CardLines.fields(of: card)
        case .command, .other: []
        }
    }

    private static func optional(_ name: String, _ text: String?) -> [JSONLine.Member] {
        text.map { [.init(name, .string($0))] } ?? []
    }

    /// The identity of the message concerned, and the offset that its sender knew (M-2).
    private static func member(_ target: MessageReference) -> JSONLine.Member {
        .init(
            "target",
            .object([
                .init("sender", .string(target.id.sender.text)),
                .init("device", .string(String(target.id.device.rawValue, radix: 16))),
                .init("counter", .count(target.id.counter)),
                .init("offset", target.offset.map { .count($0) } ?? .null),
            ]))
    }

    /// Returns a gap as a JSON object in a line.
    static func json(gap: ClosedRange<UInt64>) -> [UInt8] {
        let range: [JSONLine] = [.count(gap.lowerBound), .count(gap.upperBound)]
        return Array((JSONLine.object([.init("gap", .array(range))]).text + "\n").utf8)
    }
}
