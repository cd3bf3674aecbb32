// Generated from Specs/registry.json by Scripts/generate-registries. Do not edit.

import MartletWire

extension Frame {
    /// The fields of the body.
    var fields: [String: JSONValue?] {
        switch self {
        case .message(let body): body.json
        case .transient(let body): body.json
        case .ack(let body): body.json
        case .receipt(let body): body.json
        case .accepted(let body): body.json
        case .gap(let body): body.json
        case .ping(let body): body.json
        case .pong(let body): body.json
        case .hello(let body): body.json
        case .welcome(let body): body.json
        case .reject(let body): body.notice.json
        case .goAway(let body): body.notice.json
        case .auth(let body): body.json
        case .open(let body): body.json
        case .opened(let body): body.json
        case .close(let body): body.json
        case .reset(let body): body.json
        case .suspend(let body): body.json
        case .resume(let body): body.json
        case .update(let body): body.json
        case .request(let body): body.json
        case .response(let body): body.json
        case .cancelRequest(let body): body.json
        case .unknown: [:]
        }
    }
}

extension Accepted {
    var json: [String: JSONValue?] {
        ["acceptedRun": .many(runs.map(\.json))]
    }
}

extension Ping {
    var json: [String: JSONValue?] {
        ["nonce": .wide(nonce)]
    }
}

extension Pong {
    var json: [String: JSONValue?] {
        ["nonce": .wide(nonce), "echo": echo.json, "reconnectSpread": .time(reconnectSpread, per: .milliseconds(1))]
    }
}

extension Hello {
    var json: [String: JSONValue?] {
        [
            "spokenVersion": .many(spokenVersions.map(\.json)), "features": .wide(features.rawValue),
            "limits": limits.json, "device": .wide(device.rawValue), "account": .name(account),
            "mechanism": .name(mechanism), "credential": credential?.json, "agent": .text(agent),
            "resume": resume?.json,
        ]
    }
}

extension Auth {
    var json: [String: JSONValue?] {
        ["credential": credential?.json, "credentialLifetime": .time(credentialLifetime, per: .milliseconds(1))]
    }
}

extension Open {
    var json: [String: JSONValue?] {
        [
            "room": .name(room), "sessionKind": .number(kind.rawValue), "cursor": .wide(cursor),
            "log": .wide(log?.rawValue), "tail": .number(tail), "noLocal": noLocal ? .number(1) : nil,
        ]
    }
}

extension Opened {
    var json: [String: JSONValue?] {
        [
            "head": .wide(head), "first": .wide(first), "log": .wide(log?.rawValue), "upTo": .wide(upTo),
            "counter": .wide(counter), "member": .many(members.map(\.json)),
        ]
    }
}

extension Close {
    var json: [String: JSONValue?] {
        ["code": .number(code?.rawValue), "reason": .text(reason)]
    }
}

extension Reset {
    var json: [String: JSONValue?] {
        [
            "session": .number(session.rawValue), "code": .number(code.rawValue), "reason": .text(reason),
            "retryAfter": .time(retryAfter, per: .milliseconds(1)), "creditUsed": .wide(creditUsed),
        ]
    }
}

extension Suspend {
    var json: [String: JSONValue?] {
        [:]
    }
}

extension Resume {
    var json: [String: JSONValue?] {
        ["cursor": .wide(cursor)]
    }
}

extension Request {
    var json: [String: JSONValue?] {
        [
            "correlation": .wide(correlation), "method": .name(method),
            "deadline": .time(deadline, per: .milliseconds(1)), "recipient": .name(recipient), "sender": .name(sender),
            "content": .tree(content),
        ]
    }
}

extension Response {
    var json: [String: JSONValue?] {
        [
            "correlation": .wide(correlation), "status": .number(status.rawValue), "reason": .text(reason),
            "retryAfter": .time(retryAfter, per: .milliseconds(1)), "content": .tree(content),
        ]
    }
}

extension CancelRequest {
    var json: [String: JSONValue?] {
        ["correlation": .wide(correlation)]
    }
}

extension Notice {
    var json: [String: JSONValue?] {
        [
            "code": .number(code.rawValue), "reason": .text(reason),
            "retryAfter": .time(retryAfter, per: .milliseconds(1)), "redirect": .text(redirect),
            "spokenVersion": .many(spokenVersions.map(\.json)),
        ]
    }
}
