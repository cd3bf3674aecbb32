import MartletDecode
import MartletToolSupport
import MartletWire

/// The format of events as JSON objects, one in each line. The help of the command describes the members.
enum DecodeJSON {
    static func line(_ event: DecodeEvent, showingSecrets: Bool) -> JSONLine {
        switch event {
        case .frame(let frame): .object(members(of: frame, showingSecrets: showingSecrets))
        case .fault(let position, let fault):
            .object(
                [.init("event", .string("fault"))] + members(of: position) + [.init("error", json(fault))]
                    + (fault.header.map(members) ?? []))
        case .note(let position, let text):
            .object([.init("event", .string("note"))] + members(of: position) + [.init("text", .string(text))])
        }
    }

    private static func members(of position: StreamPosition) -> [JSONLine.Member] {
        [
            .init("time", position.time.map { .count($0 / 1000) } ?? .null),
            .init("connection", .count(position.connection)),
            .init("from", position.sender.map { .string($0.rawValue) } ?? .null),
            .init("offset", .count(position.offset)),
        ]
    }

    private static func members(of header: FrameHeader) -> [JSONLine.Member] {
        [
            .init("type", .string(header.type.description)), .init("typeNumber", .count(header.type.rawValue)),
            .init("version", .string(header.version.description)),
            .init("session", .count(header.session.rawValue)),
            .init("timestamp", .count(header.timestamp)),
            .init("flags", .array(header.flags.names.map { .string($0) })),
            .init("priority", .string("\(header.flags.priority)")),
            .init("compression", .string(header.compression == .zlib ? "zlib" : "none")),
            .init("length", .count(header.bodyByteCount)), .init("checksum", .count(header.checksum)),
        ]
    }

    private static func members(of frame: DecodedFrame, showingSecrets: Bool) -> [JSONLine.Member] {
        var members: [JSONLine.Member] = [.init("event", .string("frame"))]
        members += self.members(of: frame.position) + self.members(of: frame.header)
        members.append(.init("sequence", frame.sequence.map { .count($0) } ?? .null))
        members.append(.init("room", frame.room.map { .string($0) } ?? .null))
        members.append(.init("content", .string(name(of: frame.content))))
        members.append(.init("again", .bool(frame.isRepeated)))
        members.append(.init("missing", .count(frame.missingCount)))
        members.append(.init("fragments", .count(frame.fragmentCount)))
        members.append(.init("bytes", .count(frame.body.count)))
        if case .fragment(let number?) = frame.content { members.append(.init("fragment", .count(number))) }
        if case .refused(let fault) = frame.content { members.append(.init("error", json(fault))) }
        if frame.hasFields {
            members.append(.init("fields", frame.shownFields(showingSecrets: showingSecrets).json))
        }
        return members
    }

    private static func name(of content: DecodedFrame.Content) -> String {
        switch content {
        case .frame: "whole"
        case .fragment: "fragment"
        case .unknown: "unknown"
        case .refused: "refused"
        }
    }

    private static func json(_ fault: DecodeFault) -> JSONLine {
        .object([
            .init("code", .string(fault.code.name)), .init("number", .count(fault.code.rawValue)),
            .init("text", .string(fault.text)), .init("at", fault.bodyOffset.map { .count($0) } ?? .null),
        ])
    }
}
