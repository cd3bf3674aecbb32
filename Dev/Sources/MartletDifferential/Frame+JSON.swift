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
    var json: [String: JSONValue] {
        switch self {
        case .message(let body): body.json.present
        case .transient(let body): body.json.present
        case .ack(let body): body.json.present
        case .receipt(let body): body.json.present
        case .accepted(let body): ["acceptedRun": .list(body.runs.map(\.json))]
        case .gap(let body): ["first": .wide(body.offsets.lowerBound), "upTo": .wide(body.offsets.upperBound)]
        case .ping(let body): ["nonce": .wide(body.nonce)]
        case .pong(let body):
            [
                "nonce": .wide(body.nonce), "echo": body.echo.json,
                "reconnectSpread": .time(body.reconnectSpread, per: .milliseconds(1)),
            ].present
        case .hello(let body): body.json.present
        case .welcome(let body): body.json.present
        case .reject(let body): body.notice.json.present
        case .goAway(let body): body.notice.json.present
        case .auth(let body): body.json.present
        case .open(let body): body.json.present
        case .opened(let body): body.json.present
        case .close(let body): ["code": .number(body.code), "reason": .text(body.reason)].present
        case .reset(let body): body.json.present
        case .suspend, .unknown: [:]
        case .resume(let body): ["cursor": .wide(body.cursor)].present
        case .update(let body): (body.entry?.json ?? [:]).present
        case .request(let body): body.json.present
        case .response(let body): body.json.present
        case .cancelRequest(let body): ["correlation": .wide(body.correlation)]
        }
    }
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

    fileprivate static func wide(_ number: UInt64) -> JSONValue { .text(String(number)) }
    fileprivate static func wide(_ number: UInt64?) -> JSONValue? { number.map { .text(String($0)) } }
    fileprivate static func number(_ code: ErrorCode?) -> JSONValue? { code.map { .number(Int($0.rawValue)) } }
    fileprivate static func text(_ text: String?) -> JSONValue? { text.map { .text($0) } }
    fileprivate static func name(_ name: (some WireName)?) -> JSONValue? { name.map { .text($0.text) } }

    /// Returns a duration in whole units.
    fileprivate static func time(_ duration: Duration?, per unit: Duration) -> JSONValue? {
        duration.map { .number(Int($0 / unit)) }
    }

    /// Returns a list; nil if it is empty.
    fileprivate static func many(_ list: [JSONValue]) -> JSONValue? { list.isEmpty ? nil : .list(list) }

    /// Returns the TLVs of a content.
    fileprivate static func tree(_ content: [UInt8]?) -> JSONValue? {
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
    fileprivate var json: [String: JSONValue?] {
        [
            "offset": .wide(relay?.offset), "acceptedAt": .wide(relay?.acceptedAt),
            "device": .wide(relay?.device.rawValue), "sender": .name(relay?.sender), "counter": .wide(counter),
            "kind": .number(Int(kind.rawValue)), "content": .tree(content.bytes),
            "timeToLive": .time(timeToLive, per: .milliseconds(1)),
        ]
    }
}

extension Transient {
    fileprivate var json: [String: JSONValue?] {
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
    fileprivate var json: [String: JSONValue?] {
        [
            "room": .name(room), "membership": .number(Int(membership.rawValue)), "inviter": .name(inviter),
            "changedAt": .wide(changedAt), "log": .wide(log?.rawValue), "head": .wide(lastOffset),
            "first": .wide(firstOffset), "message": message.map { .hex($0) },
            "shortened": isShortened ? .number(1) : nil, "deliveredUpTo": delivered > 0 ? .wide(delivered) : nil,
            "readUpTo": read > 0 ? .wide(read) : nil, "unread": unreadCount > 0 ? .number(Int(unreadCount)) : nil,
        ]
    }
}

extension Ack {
    fileprivate var json: [String: JSONValue?] {
        ["linkCredit": .wide(linkCredit), "echo": echo?.json, "sessionAck": .many(sessions.map(\.json))]
    }
}

extension SessionAck {
    fileprivate var json: JSONValue {
        .object([
            "session": .number(Int(session.rawValue)), "cumulative": .wide(cumulative), "credit": .wide(creditLimit),
            "ranges": .list(ranges.map { .list([.wide($0.lowerBound), .wide($0.upperBound)]) }),
        ])
    }
}

extension Echo {
    fileprivate var json: JSONValue {
        .object(["timestamp": .number(Int(timestamp)), "held": .number(Int(delay / .microseconds(1)))])
    }
}

extension Receipt {
    fileprivate var json: [String: JSONValue?] {
        switch self {
        case .progress(let progress):
            [
                "receiptKind": .number(Int(progress.mark.rawValue)), "upTo": .wide(progress.upTo),
                "sender": .name(progress.sender), "device": .wide(progress.device?.rawValue),
            ]
        case .refused(let refusal):
            [
                "receiptKind": .number(3), "counter": .wide(refusal.counter), "code": .number(refusal.code),
                "reason": .text(refusal.reason),
            ]
        }
    }
}

extension AcceptedRun {
    fileprivate var json: JSONValue {
        .object(["counter": .wide(firstCounter), "count": .number(Int(count)), "offset": .wide(firstOffset)])
    }
}

extension Limits {
    fileprivate var json: JSONValue {
        .object([
            "maxBody": .number(maxBodyByteCount), "maxMessage": .number(maxMessageByteCount),
            "linkWindow": .number(linkWindow), "sessionWindow": .number(sessionWindow),
            "maxSessions": .number(maxSessions),
        ])
    }
}

extension SessionPosition {
    fileprivate var json: JSONValue {
        .object(["session": .number(Int(session.rawValue)), "highest": .wide(received)])
    }
}

extension ResumePoint {
    fileprivate var json: JSONValue {
        let fields: [String: JSONValue?] = [
            "link": .wide(link.rawValue), "resumeToken": .hex(token.bytes),
            "sessionPosition": .many(positions.map(\.json)),
        ]
        return .object(fields.present)
    }
}

extension Hello {
    fileprivate var json: [String: JSONValue?] {
        [
            "spokenVersion": .list(spokenVersions.map { .text("\($0)") }), "features": .wide(features.rawValue),
            "limits": limits.json, "device": .wide(device.rawValue), "account": .name(account),
            "mechanism": .name(mechanism), "credential": credential.map { .hex($0.bytes) }, "agent": .text(agent),
            "resume": resume?.json,
        ]
    }
}

extension Welcome {
    fileprivate var json: [String: JSONValue?] {
        let positions = resumed.map { ["sessionPosition": JSONValue.many($0.map(\.json))].present }
        return [
            "spokenVersion": .text("\(version)"), "features": .wide(features.rawValue), "limits": limits.json,
            "account": .name(account), "link": .wide(link.rawValue), "resumeToken": .hex(resumeToken.bytes),
            "epoch": .number(Int(epoch.rawValue)), "resumeLifetime": .time(resumeLifetime, per: .seconds(1)),
            "heartbeatInterval": .time(heartbeatInterval, per: .milliseconds(1)),
            "reconnectSpread": .time(reconnectSpread, per: .milliseconds(1)),
            "credential": credential.map { .hex($0.bytes) },
            "credentialLifetime": .time(credentialLifetime, per: .milliseconds(1)),
            "resume": positions.map { .object($0) },
        ]
    }
}

extension Auth {
    fileprivate var json: [String: JSONValue?] {
        [
            "credential": credential.map { .hex($0.bytes) },
            "credentialLifetime": .time(credentialLifetime, per: .milliseconds(1)),
        ]
    }
}

extension Notice {
    fileprivate var json: [String: JSONValue?] {
        [
            "code": .number(code), "reason": .text(reason), "retryAfter": .time(retryAfter, per: .milliseconds(1)),
            "redirect": .text(redirect), "spokenVersion": .many(spokenVersions.map { .text("\($0)") }),
        ]
    }
}

extension Open {
    fileprivate var json: [String: JSONValue?] {
        [
            "room": .name(room), "sessionKind": .number(Int(kind.rawValue)), "cursor": .wide(cursor),
            "log": .wide(log?.rawValue), "tail": tail.map { .number(Int($0)) }, "noLocal": noLocal ? .number(1) : nil,
        ]
    }
}

extension Opened {
    fileprivate var json: [String: JSONValue?] {
        [
            "head": .wide(head), "first": .wide(first), "log": .wide(log?.rawValue), "upTo": .wide(upTo),
            "counter": .wide(counter), "member": .many(members.map { .text($0.text) }),
        ]
    }
}

extension Reset {
    fileprivate var json: [String: JSONValue?] {
        [
            "session": .number(Int(session.rawValue)), "code": .number(code), "reason": .text(reason),
            "retryAfter": .time(retryAfter, per: .milliseconds(1)), "creditUsed": .wide(creditUsed),
        ]
    }
}

extension Request {
    fileprivate var json: [String: JSONValue?] {
        [
            "correlation": .wide(correlation), "method": .name(method),
            "deadline": .time(deadline, per: .milliseconds(1)), "recipient": .name(recipient),
            "sender": .name(sender), "content": .tree(content),
        ]
    }
}

extension Response {
    fileprivate var json: [String: JSONValue?] {
        [
            "correlation": .wide(correlation), "status": .number(status), "reason": .text(reason),
            "retryAfter": .time(retryAfter, per: .milliseconds(1)), "content": .tree(content),
        ]
    }
}
