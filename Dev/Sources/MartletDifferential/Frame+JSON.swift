import MartletWire

// The JSON format of frames in vectors (Specs/vectors/README.md): names of the registries, 64-bit numbers as text,
// bytes in hexadecimal, and no missing fields.

extension FrameHeader {
    /// The fields with other values than the defaults.
    var json: [String: JSONValue] {
        var fields: [String: JSONValue] = ["type": .text("\(type)")]
        let numbers = [
            ("session", Int(session.rawValue), 0), ("sequence", Int(sequence), 0), ("timestamp", Int(timestamp), 0),
            ("flags", Int(flags.rawValue), 8), ("compression", Int(compression.rawValue), 0),
            ("minor", Int(version.minor), 0),
        ]
        for (name, value, usual) in numbers where value != usual { fields[name] = .number(value) }
        return fields
    }
}

extension StreamReader.Outcome {
    /// The members beside the header.
    var json: [String: JSONValue] {
        switch self {
        case .value(let frame): ["value": .object(frame.json)]
        case .skipped: ["skipped": .bool(true)]
        case .fragment(let bytes): ["fragment": .hex(bytes)]
        case .refused(let code, let scope): ["refused": .code(code), "ends": .text(scope.rawValue)]
        }
    }
}

extension Frame {
    /// The fields of the body.
    var json: [String: JSONValue] { fields.present }
}

extension [String: JSONValue?] {
    fileprivate var present: [String: JSONValue] { compactMapValues { $0 } }
}

extension JSONValue {
    static func hex(_ bytes: [UInt8]) -> JSONValue {
        var text: [UInt8] = []
        Hex.append(bytes, to: &text)
        return .text(String(decoding: text, as: UTF8.self))
    }

    static func code(_ code: ErrorCode) -> JSONValue { .text(code.name) }

    static func bytes(_ bytes: [UInt8]?) -> JSONValue? { bytes.map { .hex($0) } }

    static func wide(_ number: UInt64) -> JSONValue { .text(String(number)) }
    static func wide(_ number: UInt64?) -> JSONValue? { number.map { .text(String($0)) } }
    static func number(_ number: (some UnsignedInteger)?) -> JSONValue? { number.map { .number(Int($0)) } }
    static func text(_ text: String?) -> JSONValue? { text.map { .text($0) } }
    static func name(_ name: (some WireName)?) -> JSONValue? { name.map { .text($0.text) } }

    /// Returns a duration in whole units.
    static func time(_ duration: Duration?, per unit: Duration) -> JSONValue? {
        duration.map { .number(Int($0 / unit)) }
    }

    /// Returns a list; nil if it is empty.
    static func many(_ list: [JSONValue]) -> JSONValue? { list.isEmpty ? nil : .list(list) }

    /// Returns the TLVs of a content.
    static func tree(_ content: [UInt8]?) -> JSONValue? {
        guard let content, let tree = try? TLVTree(parsing: content.rawBytes) else { return nil }
        return .list(tree.nodes.map(JSONValue.node))
    }

    private static func node(_ node: TLVNode) -> JSONValue {
        switch node.value {
        case .bytes(let bytes): .list([.number(Int(node.tag.rawValue)), .hex(bytes)])
        case .children(let children): .list([.number(Int(node.tag.rawValue)), .list(children.map(JSONValue.node))])
        }
    }
}

extension Message {
    var json: [String: JSONValue?] {
        [
            "offset": .wide(relay?.offset), "acceptedAt": .wide(relay?.acceptedAt),
            "device": .wide(relay?.device.rawValue), "sender": .name(relay?.sender), "counter": .wide(counter),
            "kind": .number(Int(kind.rawValue)), "content": .tree(content.bytes),
            "timeToLive": .time(timeToLive, per: .milliseconds(1)),
        ]
    }
}

extension Transient {
    var json: [String: JSONValue?] {
        var fields: [String: JSONValue?] = ["sender": .name(sender)]
        switch content {
        case .typing(let isTyping): fields["typing"] = .number(isTyping ? 1 : 0)
        case .presence(let presence): fields["presence"] = .number(Int(presence.rawValue))
        case .message(let kind, let bytes):
            fields["kind"] = .number(Int(kind.rawValue))
            fields["content"] = .tree(bytes)
        }
        return fields
    }
}

extension RoomEntry {
    var json: [String: JSONValue?] {
        [
            "room": .name(room), "membership": .number(Int(membership.rawValue)), "inviter": .name(inviter),
            "changedAt": .wide(changedAt), "log": .wide(log?.rawValue), "head": .wide(lastOffset),
            "first": .wide(firstOffset), "message": .bytes(message),
            "shortened": isShortened ? .number(1) : nil, "deliveredUpTo": delivered > 0 ? .wide(delivered) : nil,
            "readUpTo": read > 0 ? .wide(read) : nil, "unread": unreadCount > 0 ? .number(Int(unreadCount)) : nil,
        ]
    }
}

extension Ack {
    var json: [String: JSONValue?] {
        ["linkCredit": .wide(linkCredit), "echo": echo?.json, "sessionAck": .many(sessions.map(\.json))]
    }
}

extension SessionAck {
    var json: JSONValue {
        .object([
            "session": .number(Int(session.rawValue)), "cumulative": .wide(cumulative), "credit": .wide(creditLimit),
            "ranges": .list(ranges.map { .list([.wide($0.lowerBound), .wide($0.upperBound)]) }),
        ])
    }
}

extension Echo {
    var json: JSONValue {
        .object(["timestamp": .number(Int(timestamp)), "held": .number(Int(delay / .microseconds(1)))])
    }
}

extension Gap {
    var json: [String: JSONValue?] { ["first": .wide(offsets.lowerBound), "upTo": .wide(offsets.upperBound)] }
}

extension RoomUpdate {
    var json: [String: JSONValue?] { entry?.json ?? [:] }
}

extension WireVersion {
    var json: JSONValue { .text("\(self)") }
}

extension WireName {
    var json: JSONValue { .text(text) }
}

extension Credential {
    var json: JSONValue { .hex(bytes) }
}

extension Receipt {
    var json: [String: JSONValue?] {
        switch self {
        case .progress(let progress):
            [
                "receiptKind": .number(Int(progress.mark.rawValue)), "upTo": .wide(progress.upTo),
                "sender": .name(progress.sender), "device": .wide(progress.device?.rawValue),
            ]
        case .refused(let refusal):
            [
                "receiptKind": .number(3), "counter": .wide(refusal.counter), "code": .number(refusal.code.rawValue),
                "reason": .text(refusal.reason),
            ]
        }
    }
}

extension AcceptedRun {
    var json: JSONValue {
        .object(["counter": .wide(firstCounter), "count": .number(Int(count)), "offset": .wide(firstOffset)])
    }
}

extension Limits {
    var json: JSONValue {
        .object([
            "maxBody": .number(maxBodyByteCount), "maxMessage": .number(maxMessageByteCount),
            "linkWindow": .number(linkWindow), "sessionWindow": .number(sessionWindow),
            "maxSessions": .number(maxSessions),
        ])
    }
}

extension SessionPosition {
    var json: JSONValue {
        .object(["session": .number(Int(session.rawValue)), "highest": .wide(received)])
    }
}

extension ResumePoint {
    var json: JSONValue {
        let fields: [String: JSONValue?] = [
            "link": .wide(link.rawValue), "resumeToken": .hex(token.bytes),
            "sessionPosition": .many(positions.map(\.json)),
        ]
        return .object(fields.present)
    }
}

extension Welcome {
    var json: [String: JSONValue?] {
        let positions = resumed.map { ["sessionPosition": JSONValue.many($0.map(\.json))].present }
        return [
            "spokenVersion": version.json, "features": .wide(features.rawValue), "limits": limits.json,
            "account": .name(account), "link": .wide(link.rawValue), "resumeToken": .hex(resumeToken.bytes),
            "epoch": .number(Int(epoch.rawValue)), "resumeLifetime": .time(resumeLifetime, per: .seconds(1)),
            "heartbeatInterval": .time(heartbeatInterval, per: .milliseconds(1)),
            "reconnectSpread": .time(reconnectSpread, per: .milliseconds(1)),
            "credential": credential?.json,
            "credentialLifetime": .time(credentialLifetime, per: .milliseconds(1)),
            "resume": positions.map { .object($0) },
        ]
    }
}
