// Generated from Specs/registry.json by Scripts/generate-registries. Do not edit.

package import MartletWire

/// A source of random values for the fields of frames.
package protocol FieldSource {
    mutating func number(_ bounds: ClosedRange<UInt64>) -> UInt64
    mutating func text(_ byteCounts: ClosedRange<Int>) -> String
    mutating func name<Name: WireName>() -> Name
    mutating func duration(per unit: Duration) -> Duration
    mutating func flip() -> Bool
    mutating func bytes() -> [UInt8]
    mutating func content() -> [UInt8]
    mutating func maybe<Value>(_ make: (inout Self) -> Value) -> Value?
    mutating func list<Value>(_ counts: ClosedRange<Int>, _ make: (inout Self) -> Value) -> [Value]
    mutating func acceptedRun() -> AcceptedRun
    mutating func credential() -> Credential
    mutating func echo() -> Echo
    mutating func limits() -> Limits
    mutating func resumePoint() -> ResumePoint
}

extension FieldSource {
    package mutating func number<Number: FixedWidthInteger & UnsignedInteger>(_ bounds: ClosedRange<Number>) -> Number {
        Number(number(UInt64(bounds.lowerBound)...UInt64(bounds.upperBound)) as UInt64)
    }

    package mutating func choice<Choice: CaseIterable>() -> Choice {
        let all = Array(Choice.allCases)
        return all[Int(number(0...UInt64(all.count - 1)) as UInt64)]
    }

    package mutating func maybe<Value>(_ make: (inout Self) -> Value) -> Value? { flip() ? make(&self) : nil }
}

extension Accepted {
    package init(from source: inout some FieldSource) {
        self.init(runs: source.list(1...256) { $0.acceptedRun() })
    }
}

extension Ping {
    package init(from source: inout some FieldSource) {
        self.init(nonce: source.number(0...UInt64.max))
    }
}

extension Pong {
    package init(from source: inout some FieldSource) {
        self.init(
            nonce: source.number(0...UInt64.max), echo: source.echo(),
            reconnectSpread: source.maybe { $0.duration(per: .milliseconds(1)) })
    }
}

extension Hello {
    package init(from source: inout some FieldSource) {
        self.init(
            spokenVersions: source.list(1...16) { WireVersion(rawValue: $0.number(0...UInt16.max)) },
            features: Features(rawValue: source.number(0...UInt64.max)), limits: source.limits(),
            device: DeviceID(rawValue: source.number(0...UInt64.max)), account: source.name(),
            mechanism: source.maybe { $0.name() }, credential: source.maybe { $0.credential() },
            agent: source.maybe { $0.text(0...128) }, resume: source.maybe { $0.resumePoint() })
    }
}

extension Auth {
    package init(from source: inout some FieldSource) {
        self.init(
            credential: source.maybe { $0.credential() },
            credentialLifetime: source.maybe { $0.duration(per: .milliseconds(1)) })
    }
}

extension Open {
    package init(from source: inout some FieldSource) {
        self.init(
            room: source.name(), kind: source.choice(), cursor: source.number(0...UInt64.max),
            log: source.maybe { LogID(rawValue: $0.number(0...UInt64.max)) },
            tail: source.maybe { $0.number(0...UInt32.max) }, noLocal: source.flip())
    }
}

extension Opened {
    package init(from source: inout some FieldSource) {
        self.init(
            head: source.number(0...UInt64.max), first: source.number(0...UInt64.max),
            log: source.maybe { LogID(rawValue: $0.number(0...UInt64.max)) },
            upTo: source.maybe { $0.number(0...UInt64.max) }, counter: source.maybe { $0.number(1...UInt64.max) },
            members: source.list(0...256) { $0.name() })
    }
}

extension Close {
    package init(from source: inout some FieldSource) {
        self.init(
            code: source.maybe { ErrorCode(rawValue: $0.number(0...UInt16.max)) },
            reason: source.maybe { $0.text(0...256) })
    }
}

extension Reset {
    package init(from source: inout some FieldSource) {
        self.init(
            session: SessionID(rawValue: source.number(1...UInt16.max)),
            code: ErrorCode(rawValue: source.number(0...UInt16.max)), reason: source.maybe { $0.text(0...256) },
            retryAfter: source.maybe { $0.duration(per: .milliseconds(1)) },
            creditUsed: source.maybe { $0.number(0...UInt64.max) })
    }
}

extension Suspend {
    package init(from source: inout some FieldSource) {
        self.init()
    }
}

extension Resume {
    package init(from source: inout some FieldSource) {
        self.init(cursor: source.maybe { $0.number(0...UInt64.max) })
    }
}

extension Request {
    package init(from source: inout some FieldSource) {
        self.init(
            correlation: source.number(0...UInt64.max), method: source.name(),
            deadline: source.duration(per: .milliseconds(1)), recipient: source.maybe { $0.name() },
            sender: source.maybe { $0.name() }, content: source.maybe { $0.content() })
    }
}

extension Response {
    package init(from source: inout some FieldSource) {
        self.init(
            correlation: source.number(0...UInt64.max), status: ErrorCode(rawValue: source.number(0...UInt16.max)),
            reason: source.maybe { $0.text(0...256) }, retryAfter: source.maybe { $0.duration(per: .milliseconds(1)) },
            content: source.maybe { $0.content() })
    }
}

extension CancelRequest {
    package init(from source: inout some FieldSource) {
        self.init(correlation: source.number(0...UInt64.max))
    }
}

extension Notice {
    package init(from source: inout some FieldSource) {
        self.init(
            code: ErrorCode(rawValue: source.number(0...UInt16.max)), reason: source.maybe { $0.text(0...256) },
            retryAfter: source.maybe { $0.duration(per: .milliseconds(1)) },
            redirect: source.maybe { $0.text(1...512) },
            spokenVersions: source.list(0...16) { WireVersion(rawValue: $0.number(0...UInt16.max)) })
    }
}

extension FrameType {
    /// The types whose body is a list of fields.
    package static let listed: [FrameType] = [
        .accepted, .ping, .pong, .hello, .reject, .goaway, .auth, .open, .opened, .close, .reset, .suspend, .resume,
        .request, .response, .cancel,
    ]
}

extension Frame {
    /// Creates a random frame of a type whose body is a list of fields; nil for any other type.
    package init?(listed type: FrameType, from source: inout some FieldSource) {
        switch type {
        case .accepted: self = .accepted(Accepted(from: &source))
        case .ping: self = .ping(Ping(from: &source))
        case .pong: self = .pong(Pong(from: &source))
        case .hello: self = .hello(Hello(from: &source))
        case .reject: self = .reject(Reject(Notice(from: &source)))
        case .goaway: self = .goAway(GoAway(Notice(from: &source)))
        case .auth: self = .auth(Auth(from: &source))
        case .open: self = .open(Open(from: &source))
        case .opened: self = .opened(Opened(from: &source))
        case .close: self = .close(Close(from: &source))
        case .reset: self = .reset(Reset(from: &source))
        case .suspend: self = .suspend(Suspend(from: &source))
        case .resume: self = .resume(Resume(from: &source))
        case .request: self = .request(Request(from: &source))
        case .response: self = .response(Response(from: &source))
        case .cancel: self = .cancelRequest(CancelRequest(from: &source))
        default: return nil
        }
    }
}
