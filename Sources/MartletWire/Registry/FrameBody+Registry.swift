// Generated from Specs/registry.json by Scripts/generate-registries. Do not edit.

/// The frame that reports that the relay has stored messages durably, with their offsets (W-64).
package struct Accepted: FrameBody {
    /// The type `accepted`, 0x2003.
    package static let type = FrameType.accepted
    /// The maximum number of elements of `runs`.
    package static let maxRunCount = 256

    /// The runs of messages, 1 to 256.
    package let runs: [AcceptedRun]

    /// Creates the frame.
    ///
    /// - Precondition: `runs` has 1 to ``maxRunCount`` elements.
    package init(runs: [AcceptedRun]) {
        precondition((1...Self.maxRunCount).contains(runs.count), "runs has 1 to maxRunCount elements")
        self.runs = runs
    }

    /// Creates the frame from its body.
    ///
    /// - Throws: The errors of ``FrameBody/init(parsing:)``.
    package init(parsing body: RawSpan) throws(WireError) {
        var runs: [AcceptedRun] = []
        var reader = try TLVReader(wholeBody: body)
        while let field = try reader.next() {
            switch field.tag {
            case .acceptedRun: try runs.append(AcceptedRun(parsing: field), limit: Self.maxRunCount)
            default: try field.skip()
            }
        }
        guard !runs.isEmpty else { throw .missingField(.acceptedRun) }
        self.runs = runs
    }

    /// Appends the fields of the body.
    package func encode(into writer: inout TLVWriter) {
        for item in runs { item.encode(into: &writer) }
    }
}

/// The frame that requests a pong, to verify that the peer is alive and to measure the round-trip time (W-70).
package struct Ping: FrameBody {
    /// The type `ping`, 0x3001.
    package static let type = FrameType.ping

    /// The number that identifies the ping. The pong repeats it.
    package let nonce: UInt64

    /// Creates the frame.
    package init(nonce: UInt64) {
        self.nonce = nonce
    }

    /// Creates the frame from its body.
    ///
    /// - Throws: The errors of ``FrameBody/init(parsing:)``.
    package init(parsing body: RawSpan) throws(WireError) {
        var nonce: UInt64?
        var reader = try TLVReader(wholeBody: body)
        while let field = try reader.next() {
            switch field.tag {
            case .nonce: try nonce.fill(.nonce, field.uint64())
            default: try field.skip()
            }
        }
        self.nonce = try nonce.required(.nonce)
    }

    /// Appends the fields of the body.
    package func encode(into writer: inout TLVWriter) {
        writer.append(.nonce, uint64: nonce)
    }
}

/// The frame that answers a ping (W-70).
package struct Pong: FrameBody {
    /// The type `pong`, 0x3002.
    package static let type = FrameType.pong

    /// The number of the ping.
    package let nonce: UInt64
    /// The timestamp of the ping, and the duration until the answer.
    package let echo: Echo
    /// The duration over which the clients of the server spread their attempts to reconnect, in whole milliseconds; nil
    /// from a client.
    package let reconnectSpread: Duration?

    /// Creates the frame. `reconnectSpread` is rounded down to milliseconds.
    package init(nonce: UInt64, echo: Echo, reconnectSpread: Duration? = nil) {
        self.nonce = nonce
        self.echo = echo
        self.reconnectSpread = reconnectSpread?.roundedDown(to: .milliseconds)
    }

    /// Creates the frame from its body.
    ///
    /// - Throws: The errors of ``FrameBody/init(parsing:)``.
    package init(parsing body: RawSpan) throws(WireError) {
        var nonce: UInt64?
        var echo: Echo?
        var reconnectSpread: Duration?
        var reader = try TLVReader(wholeBody: body)
        while let field = try reader.next() {
            switch field.tag {
            case .nonce: try nonce.fill(.nonce, field.uint64())
            case .echo: try echo.fill(.echo, Echo(parsing: field))
            case .reconnectSpread: try reconnectSpread.fill(.reconnectSpread, field.duration(.milliseconds))
            default: try field.skip()
            }
        }
        self.nonce = try nonce.required(.nonce)
        self.echo = try echo.required(.echo)
        self.reconnectSpread = reconnectSpread
    }

    /// Appends the fields of the body.
    package func encode(into writer: inout TLVWriter) {
        writer.append(.nonce, uint64: nonce)
        echo.encode(into: &writer)
        if let reconnectSpread { writer.append(.reconnectSpread, duration: reconnectSpread, .milliseconds) }
    }
}

/// The first frame of a client: its account and device, its versions and features, and the link to resume (W-33).
package struct Hello: FrameBody {
    /// The type `hello`, 0x4001.
    package static let type = FrameType.hello
    /// The maximum number of elements of `spokenVersions`.
    package static let maxSpokenVersionCount = 16

    /// The versions that the client supports, 1 to 16.
    package let spokenVersions: [WireVersion]
    /// The features of the client.
    package let features: Features
    /// The limits of the client.
    package let limits: Limits
    /// The device of the client. Other frames omit it.
    package let device: DeviceID
    /// The account of the client.
    package let account: AccountName
    /// The mechanism of the authentication exchange that the credential begins; nil if the credential is a token.
    package let mechanism: MechanismName?
    /// The proof of the account, or the first message of the exchange; nil if the server requires none.
    package let credential: Credential?
    /// The name and version of the program, as text for people, at most 128 bytes.
    package let agent: String?
    /// The link to resume; nil for a new link.
    package let resume: ResumePoint?

    /// Creates the frame. `agent` is truncated to 128 bytes.
    ///
    /// - Precondition: `spokenVersions` has 1 to ``maxSpokenVersionCount`` elements.
    package init(
        spokenVersions: [WireVersion] = [.current], features: Features = .supported, limits: Limits = Limits(),
        device: DeviceID, account: AccountName, mechanism: MechanismName? = nil, credential: Credential? = nil,
        agent: String? = nil, resume: ResumePoint? = nil
    ) {
        precondition(
            (1...Self.maxSpokenVersionCount).contains(spokenVersions.count),
            "spokenVersions has 1 to maxSpokenVersionCount elements")
        self.spokenVersions = spokenVersions
        self.features = features
        self.limits = limits
        self.device = device
        self.account = account
        self.mechanism = mechanism
        self.credential = credential
        self.agent = agent?.clipped(toByteCount: 128)
        self.resume = resume
    }

    /// Creates the frame from its body.
    ///
    /// - Throws: The errors of ``FrameBody/init(parsing:)``.
    package init(parsing body: RawSpan) throws(WireError) {
        var spokenVersions: [WireVersion] = []
        var features: Features?
        var limits: Limits?
        var device: DeviceID?
        var account: AccountName?
        var mechanism: MechanismName?
        var credential: Credential?
        var agent: String?
        var resume: ResumePoint?
        var reader = try TLVReader(wholeBody: body)
        while let field = try reader.next() {
            switch field.tag {
            case .spokenVersion:
                try spokenVersions.append(WireVersion(rawValue: field.uint16()), limit: Self.maxSpokenVersionCount)
            case .features: try features.fill(.features, Features(rawValue: field.uint64()))
            case .limits: try limits.fill(.limits, Limits(parsing: field))
            case .device: try device.fill(.device, DeviceID(rawValue: field.uint64()))
            case .account: try account.fill(.account, field.name())
            case .mechanism: try mechanism.fill(.mechanism, field.name())
            case .credential: try credential.fill(.credential, Credential(parsing: field))
            case .agent: try agent.fill(.agent, field.string(maxByteCount: 128))
            case .resume: try resume.fill(.resume, ResumePoint(parsing: field))
            default: try field.skip()
            }
        }
        guard !spokenVersions.isEmpty else { throw .missingField(.spokenVersion) }
        self.spokenVersions = spokenVersions
        self.features = try features.required(.features)
        self.limits = try limits.required(.limits)
        self.device = try device.required(.device)
        self.account = try account.required(.account)
        self.mechanism = mechanism
        self.credential = credential
        self.agent = agent
        self.resume = resume
    }

    /// Appends the fields of the body.
    package func encode(into writer: inout TLVWriter) {
        for item in spokenVersions { writer.append(.spokenVersion, uint16: item.rawValue) }
        writer.append(.features, uint64: features.rawValue)
        limits.encode(into: &writer)
        writer.append(.device, uint64: device.rawValue)
        writer.append(.account, name: account)
        if let mechanism { writer.append(.mechanism, name: mechanism) }
        credential?.encode(into: &writer)
        if let agent { writer.append(.agent, string: agent) }
        resume?.encode(into: &writer)
    }
}

/// The contents of `reject` and `goaway`.
public struct Notice: Equatable, Sendable {
    /// The maximum number of elements of `spokenVersions`.
    public static let maxSpokenVersionCount = 16
    /// The maximum number of bytes of `redirect`.
    package static let maxRedirectByteCount = 512

    /// The reason as a code.
    public let code: ErrorCode
    /// The reason as text for people, at most 256 bytes of UTF-8.
    public let reason: String?
    /// The minimum duration until the peer connects again, in whole milliseconds; nil for the peer's own choice.
    public let retryAfter: Duration?
    /// The endpoint to which the peer connects instead, 1 to 512 bytes.
    public let redirect: String?
    /// The supported versions, if the peer's version is not supported.
    public let spokenVersions: [WireVersion]

    /// Creates the frame. `reason` is truncated to 256 bytes. `retryAfter` is rounded down to milliseconds.
    ///
    /// - Precondition: `redirect` has 1 to 512 bytes. `spokenVersions` has at most ``maxSpokenVersionCount`` elements.
    public init(
        code: ErrorCode, reason: String? = nil, retryAfter: Duration? = nil, redirect: String? = nil,
        spokenVersions: [WireVersion] = []
    ) {
        precondition(redirect.map { (1...512).contains($0.utf8.count) } ?? true, "redirect has 1 to 512 bytes")
        precondition(
            spokenVersions.count <= Self.maxSpokenVersionCount,
            "spokenVersions has at most maxSpokenVersionCount elements")
        self.code = code
        self.reason = reason?.clipped(toByteCount: 256)
        self.retryAfter = retryAfter?.roundedDown(to: .milliseconds)
        self.redirect = redirect
        self.spokenVersions = spokenVersions
    }

    init(parsing body: RawSpan) throws(WireError) {
        var code: ErrorCode?
        var reason: String?
        var retryAfter: Duration?
        var redirect: String?
        var spokenVersions: [WireVersion] = []
        var reader = try TLVReader(wholeBody: body)
        while let field = try reader.next() {
            switch field.tag {
            case .code: try code.fill(.code, ErrorCode(rawValue: field.uint16()))
            case .reason: try reason.fill(.reason, field.string(maxByteCount: 256))
            case .retryAfter: try retryAfter.fill(.retryAfter, field.duration(.milliseconds))
            case .redirect: try redirect.fill(.redirect, field.string(minByteCount: 1, maxByteCount: 512))
            case .spokenVersion:
                try spokenVersions.append(WireVersion(rawValue: field.uint16()), limit: Self.maxSpokenVersionCount)
            default: try field.skip()
            }
        }
        self.code = try code.required(.code)
        self.reason = reason
        self.retryAfter = retryAfter
        self.redirect = redirect
        self.spokenVersions = spokenVersions
    }

    func encode(into writer: inout TLVWriter) {
        writer.append(.code, uint16: code.rawValue)
        if let reason { writer.append(.reason, string: reason) }
        if let retryAfter { writer.append(.retryAfter, duration: retryAfter, .milliseconds) }
        if let redirect { writer.append(.redirect, string: redirect) }
        for item in spokenVersions { writer.append(.spokenVersion, uint16: item.rawValue) }
    }
}

/// The frame that refuses a hello and ends the connection (W-38).
package struct Reject: FrameBody {
    /// The type `reject`, 0x4003.
    package static let type = FrameType.reject

    /// The contents.
    package let notice: Notice

    /// Creates the frame.
    package init(_ notice: Notice) { self.notice = notice }

    /// Creates the frame from its body.
    ///
    /// - Throws: The errors of ``FrameBody/init(parsing:)``.
    package init(parsing body: RawSpan) throws(WireError) { notice = try Notice(parsing: body) }

    /// Appends the fields of the body.
    package func encode(into writer: inout TLVWriter) { notice.encode(into: &writer) }
}

/// The last frame on a connection that its sender ends: after an error, before a restart, or to redirect the peer
/// (W-43).
package struct GoAway: FrameBody {
    /// The type `goaway`, 0x4004.
    package static let type = FrameType.goaway

    /// The contents.
    package let notice: Notice

    /// Creates the frame.
    package init(_ notice: Notice) { self.notice = notice }

    /// Creates the frame from its body.
    ///
    /// - Throws: The errors of ``FrameBody/init(parsing:)``.
    package init(parsing body: RawSpan) throws(WireError) { notice = try Notice(parsing: body) }

    /// Appends the fields of the body.
    package func encode(into writer: inout TLVWriter) { notice.encode(into: &writer) }
}

/// A message of an authentication exchange before welcome, or of the renewal of a credential after it (W-97).
package struct Auth: FrameBody {
    /// The type `auth`, 0x4005.
    package static let type = FrameType.auth

    /// The message of the exchange, or the new credential; nil in the answer to a renewal.
    package let credential: Credential?
    /// The duration until the new credential expires, in whole milliseconds; nil if it does not.
    package let credentialLifetime: Duration?

    /// Creates the frame. `credentialLifetime` is rounded down to milliseconds.
    package init(credential: Credential? = nil, credentialLifetime: Duration? = nil) {
        self.credential = credential
        self.credentialLifetime = credentialLifetime?.roundedDown(to: .milliseconds)
    }

    /// Creates the frame from its body.
    ///
    /// - Throws: The errors of ``FrameBody/init(parsing:)``.
    package init(parsing body: RawSpan) throws(WireError) {
        var credential: Credential?
        var credentialLifetime: Duration?
        var reader = try TLVReader(wholeBody: body)
        while let field = try reader.next() {
            switch field.tag {
            case .credential: try credential.fill(.credential, Credential(parsing: field))
            case .credentialLifetime: try credentialLifetime.fill(.credentialLifetime, field.duration(.milliseconds))
            default: try field.skip()
            }
        }
        self.credential = credential
        self.credentialLifetime = credentialLifetime
    }

    /// Appends the fields of the body.
    package func encode(into writer: inout TLVWriter) {
        credential?.encode(into: &writer)
        if let credentialLifetime { writer.append(.credentialLifetime, duration: credentialLifetime, .milliseconds) }
    }
}

/// The frame that opens a session on a room (W-55).
package struct Open: FrameBody {
    /// The type `open`, 0x5001.
    package static let type = FrameType.open

    /// The room.
    package let room: RoomName
    /// The kind of the session.
    package let kind: SessionKind
    /// The cursor: only higher offsets are delivered. The cursor 0 begins with the first offset.
    package let cursor: UInt64
    /// The identity of the log to which the cursor belongs; nil if it is unknown. The cursor counts as 0 in another log
    ///
    package let log: LogID?
    /// The number of the latest messages to begin with, unless the cursor is later; nil to begin at the cursor.
    package let tail: UInt32?
    /// Whether the relay omits messages of the device that opens the session (No Local of MQTT 5 §3.8.3.1).
    package let noLocal: Bool

    /// Creates the frame.
    package init(
        room: RoomName, kind: SessionKind = .chat, cursor: UInt64, log: LogID? = nil, tail: UInt32? = nil,
        noLocal: Bool = false
    ) {
        self.room = room
        self.kind = kind
        self.cursor = cursor
        self.log = log
        self.tail = tail
        self.noLocal = noLocal
    }

    /// Creates the frame from its body.
    ///
    /// - Throws: The errors of ``FrameBody/init(parsing:)``.
    package init(parsing body: RawSpan) throws(WireError) {
        var room: RoomName?
        var kind: SessionKind?
        var cursor: UInt64?
        var log: LogID?
        var tail: UInt32?
        var noLocal: Bool?
        var reader = try TLVReader(wholeBody: body)
        while let field = try reader.next() {
            switch field.tag {
            case .room: try room.fill(.room, field.name())
            case .sessionKind: try kind.fill(.sessionKind, field.choice())
            case .cursor: try cursor.fill(.cursor, field.uint64())
            case .log: try log.fill(.log, LogID(rawValue: field.uint64()))
            case .tail: try tail.fill(.tail, field.uint32())
            case .noLocal: try noLocal.fill(.noLocal, field.bool())
            default: try field.skip()
            }
        }
        self.room = try room.required(.room)
        self.kind = try kind.required(.sessionKind)
        self.cursor = try cursor.required(.cursor)
        self.log = log
        self.tail = tail
        self.noLocal = noLocal ?? false
    }

    /// Appends the fields of the body.
    package func encode(into writer: inout TLVWriter) {
        writer.append(.room, name: room)
        writer.append(.sessionKind, uint8: kind.rawValue)
        writer.append(.cursor, uint64: cursor)
        if let log { writer.append(.log, uint64: log.rawValue) }
        if let tail { writer.append(.tail, uint32: tail) }
        if noLocal { writer.append(.noLocal, uint8: 1) }
    }
}

/// The frame that accepts an `open` (W-56).
package struct Opened: FrameBody {
    /// The type `opened`, 0x5002.
    package static let type = FrameType.opened
    /// The maximum number of elements of `members`.
    package static let maxMemberCount = 256

    /// The highest offset of the room's log; 0 if the log is empty.
    package let head: UInt64
    /// The lowest offset that the log still keeps.
    package let first: UInt64
    /// The identity of the room's log; nil from a relay that does not send it.
    package let log: LogID?
    /// The highest offset up to which the log that `open` names has the messages of this log; nil if `open` names this
    /// log, none or an unknown one.
    package let upTo: UInt64?
    /// The highest counter that the relay has taken from the device in the room; nil if there is none.
    package let counter: UInt64?
    /// The accounts of the room's members, at most 256.
    package let members: [AccountName]

    /// Creates the frame.
    ///
    /// - Precondition: `counter` is at least 1. `members` has at most ``maxMemberCount`` elements.
    package init(
        head: UInt64, first: UInt64, log: LogID? = nil, upTo: UInt64? = nil, counter: UInt64? = nil,
        members: [AccountName] = []
    ) {
        precondition(counter.map { (1...).contains($0) } ?? true, "counter is at least 1")
        precondition(members.count <= Self.maxMemberCount, "members has at most maxMemberCount elements")
        self.head = head
        self.first = first
        self.log = log
        self.upTo = upTo
        self.counter = counter
        self.members = members
    }

    /// Creates the frame from its body.
    ///
    /// - Throws: The errors of ``FrameBody/init(parsing:)``.
    package init(parsing body: RawSpan) throws(WireError) {
        var head: UInt64?
        var first: UInt64?
        var log: LogID?
        var upTo: UInt64?
        var counter: UInt64?
        var members: [AccountName] = []
        var reader = try TLVReader(wholeBody: body)
        while let field = try reader.next() {
            switch field.tag {
            case .head: try head.fill(.head, field.uint64())
            case .first: try first.fill(.first, field.uint64())
            case .log: try log.fill(.log, LogID(rawValue: field.uint64()))
            case .upTo: try upTo.fill(.upTo, field.uint64())
            case .counter: try counter.fill(.counter, field.uint64().within(1...UInt64.max, .counter))
            case .member: try members.append(field.name(), limit: Self.maxMemberCount)
            default: try field.skip()
            }
        }
        self.head = try head.required(.head)
        self.first = try first.required(.first)
        self.log = log
        self.upTo = upTo
        self.counter = counter
        self.members = members
    }

    /// Appends the fields of the body.
    package func encode(into writer: inout TLVWriter) {
        writer.append(.head, uint64: head)
        writer.append(.first, uint64: first)
        if let log { writer.append(.log, uint64: log.rawValue) }
        if let upTo { writer.append(.upTo, uint64: upTo) }
        if let counter { writer.append(.counter, uint64: counter) }
        for item in members { writer.append(.member, name: item) }
    }
}

/// The frame that ends a session after all its earlier frames (W-57).
package struct Close: FrameBody {
    /// The type `close`, 0x5003.
    package static let type = FrameType.close

    /// The reason as a code; nil if there is none.
    package let code: ErrorCode?
    /// The reason as text for people, at most 256 bytes of UTF-8.
    package let reason: String?

    /// Creates the frame. `reason` is truncated to 256 bytes.
    package init(code: ErrorCode? = nil, reason: String? = nil) {
        self.code = code
        self.reason = reason?.clipped(toByteCount: 256)
    }

    /// Creates the frame from its body.
    ///
    /// - Throws: The errors of ``FrameBody/init(parsing:)``.
    package init(parsing body: RawSpan) throws(WireError) {
        var code: ErrorCode?
        var reason: String?
        var reader = try TLVReader(wholeBody: body)
        while let field = try reader.next() {
            switch field.tag {
            case .code: try code.fill(.code, ErrorCode(rawValue: field.uint16()))
            case .reason: try reason.fill(.reason, field.string(maxByteCount: 256))
            default: try field.skip()
            }
        }
        self.code = code
        self.reason = reason
    }

    /// Appends the fields of the body.
    package func encode(into writer: inout TLVWriter) {
        if let code { writer.append(.code, uint16: code.rawValue) }
        if let reason { writer.append(.reason, string: reason) }
    }
}

/// The frame that ends a session at once. It is sent on the control session, and frames of the session in flight are
/// dropped (W-57).
package struct Reset: FrameBody {
    /// The type `reset`, 0x5004.
    package static let type = FrameType.reset

    /// The session that ends.
    package let session: SessionID
    /// The reason as a code.
    package let code: ErrorCode
    /// The reason as text for people, at most 256 bytes of UTF-8.
    package let reason: String?
    /// The duration after which the sender would accept another session in place of this one, in milliseconds on the
    /// wire; nil if it names none (W-103, S-64).
    package let retryAfter: Duration?
    /// The number of bytes of credit that the sender of this frame has used on the session, so that both endpoints
    /// compute the same credit of the link.
    package let creditUsed: UInt64?

    /// Creates the frame. `reason` is truncated to 256 bytes. `retryAfter` is rounded down to milliseconds.
    ///
    /// - Precondition: `session` is at least 1.
    package init(
        session: SessionID, code: ErrorCode, reason: String? = nil, retryAfter: Duration? = nil,
        creditUsed: UInt64? = nil
    ) {
        precondition((1...).contains(session.rawValue), "session is at least 1")
        self.session = session
        self.code = code
        self.reason = reason?.clipped(toByteCount: 256)
        self.retryAfter = retryAfter?.roundedDown(to: .milliseconds)
        self.creditUsed = creditUsed
    }

    /// Creates the frame from its body.
    ///
    /// - Throws: The errors of ``FrameBody/init(parsing:)``.
    package init(parsing body: RawSpan) throws(WireError) {
        var session: SessionID?
        var code: ErrorCode?
        var reason: String?
        var retryAfter: Duration?
        var creditUsed: UInt64?
        var reader = try TLVReader(wholeBody: body)
        while let field = try reader.next() {
            switch field.tag {
            case .session: try session.fill(.session, SessionID(rawValue: field.uint16()))
            case .code: try code.fill(.code, ErrorCode(rawValue: field.uint16()))
            case .reason: try reason.fill(.reason, field.string(maxByteCount: 256))
            case .retryAfter: try retryAfter.fill(.retryAfter, field.duration(.milliseconds))
            case .creditUsed: try creditUsed.fill(.creditUsed, field.uint64())
            default: try field.skip()
            }
        }
        self.session = try session.required(.session)
        guard self.session.rawValue >= 1 else { throw .invalidValue(.session) }
        self.code = try code.required(.code)
        self.reason = reason
        self.retryAfter = retryAfter
        self.creditUsed = creditUsed
    }

    /// Appends the fields of the body.
    package func encode(into writer: inout TLVWriter) {
        writer.append(.session, uint16: session.rawValue)
        writer.append(.code, uint16: code.rawValue)
        if let reason { writer.append(.reason, string: reason) }
        if let retryAfter { writer.append(.retryAfter, duration: retryAfter, .milliseconds) }
        if let creditUsed { writer.append(.creditUsed, uint64: creditUsed) }
    }
}

/// The frame that requests the peer to suspend delivery on a session until ``Resume`` (W-58).
package struct Suspend: FrameBody {
    /// The type `suspend`, 0x5005.
    package static let type = FrameType.suspend

    /// Creates the frame.
    package init() {}

    /// Creates the frame from its body.
    ///
    /// - Throws: The errors of ``FrameBody/init(parsing:)``.
    package init(parsing body: RawSpan) throws(WireError) {
        var reader = try TLVReader(wholeBody: body)
        while let field = try reader.next() { try field.skip() }
    }

    /// Appends the fields of the body.
    package func encode(into writer: inout TLVWriter) {}
}

/// The frame that resumes delivery on a session after ``Suspend`` (W-58).
package struct Resume: FrameBody {
    /// The type `resume`, 0x5006.
    package static let type = FrameType.resume

    /// The cursor from which delivery continues: only higher offsets are delivered. Nil continues where delivery was
    /// suspended.
    package let cursor: UInt64?

    /// Creates the frame.
    package init(cursor: UInt64? = nil) {
        self.cursor = cursor
    }

    /// Creates the frame from its body.
    ///
    /// - Throws: The errors of ``FrameBody/init(parsing:)``.
    package init(parsing body: RawSpan) throws(WireError) {
        var cursor: UInt64?
        var reader = try TLVReader(wholeBody: body)
        while let field = try reader.next() {
            switch field.tag {
            case .cursor: try cursor.fill(.cursor, field.uint64())
            default: try field.skip()
            }
        }
        self.cursor = cursor
    }

    /// Appends the fields of the body.
    package func encode(into writer: inout TLVWriter) {
        if let cursor { writer.append(.cursor, uint64: cursor) }
    }
}

/// The frame that requests a response from another account or from the relay (W-68).
package struct Request: FrameBody {
    /// The type `request`, 0x6001.
    package static let type = FrameType.request

    /// The number that identifies the request among those of its sender.
    package let correlation: UInt64
    /// The method.
    package let method: MethodName
    /// The duration for which the sender waits, in whole milliseconds from the time of sending.
    package let deadline: Duration
    /// The account that answers; nil for the relay itself.
    package let recipient: AccountName?
    /// The account of the sender. The relay sets it.
    package let sender: AccountName?
    /// The arguments: the TLVs of a container; nil if there are none.
    package let content: [UInt8]?

    /// Creates the frame. `deadline` is rounded down to milliseconds.
    ///
    /// - Precondition: `content` consists of well-formed TLVs.
    package init(
        correlation: UInt64, method: MethodName, deadline: Duration, recipient: AccountName? = nil,
        sender: AccountName? = nil, content: [UInt8]? = nil
    ) {
        precondition(ContentRules.allow(content), "content consists of well-formed TLVs")
        self.correlation = correlation
        self.method = method
        self.deadline = deadline.roundedDown(to: .milliseconds)
        self.recipient = recipient
        self.sender = sender
        self.content = content
    }

    /// Creates the frame from its body.
    ///
    /// - Throws: The errors of ``FrameBody/init(parsing:)``.
    package init(parsing body: RawSpan) throws(WireError) {
        var correlation: UInt64?
        var method: MethodName?
        var deadline: Duration?
        var recipient: AccountName?
        var sender: AccountName?
        var content: [UInt8]?
        var reader = try TLVReader(wholeBodyWithContent: body)
        while let field = try reader.next() {
            switch field.tag {
            case .correlation: try correlation.fill(.correlation, field.uint64())
            case .method: try method.fill(.method, field.name())
            case .deadline: try deadline.fill(.deadline, field.duration(.milliseconds))
            case .recipient: try recipient.fill(.recipient, field.name())
            case .sender: try sender.fill(.sender, field.name())
            case .content: try content.fill(.content, field.content())
            default: try field.skip()
            }
        }
        self.correlation = try correlation.required(.correlation)
        self.method = try method.required(.method)
        self.deadline = try deadline.required(.deadline)
        self.recipient = recipient
        self.sender = sender
        self.content = content
    }

    /// Appends the fields of the body.
    package func encode(into writer: inout TLVWriter) {
        writer.append(.correlation, uint64: correlation)
        writer.append(.method, name: method)
        writer.append(.deadline, duration: deadline, .milliseconds)
        if let recipient { writer.append(.recipient, name: recipient) }
        if let sender { writer.append(.sender, name: sender) }
        if let content { writer.append(.content, bytes: content) }
    }
}

/// The frame that answers a request (W-69).
package struct Response: FrameBody {
    /// The type `response`, 0x6002.
    package static let type = FrameType.response

    /// The correlation of the request.
    package let correlation: UInt64
    /// The code `none` if the request succeeded, otherwise the reason of the failure.
    package let status: ErrorCode
    /// The reason as text for people, at most 256 bytes of UTF-8.
    package let reason: String?
    /// The duration after which the request may succeed, in milliseconds on the wire; nil if the responder names none
    /// (W-103, S-65).
    package let retryAfter: Duration?
    /// The result: the TLVs of a container; nil if there is none.
    package let content: [UInt8]?

    /// Creates the frame. `reason` is truncated to 256 bytes. `retryAfter` is rounded down to milliseconds.
    ///
    /// - Precondition: `content` consists of well-formed TLVs.
    package init(
        correlation: UInt64, status: ErrorCode = .none, reason: String? = nil, retryAfter: Duration? = nil,
        content: [UInt8]? = nil
    ) {
        precondition(ContentRules.allow(content), "content consists of well-formed TLVs")
        self.correlation = correlation
        self.status = status
        self.reason = reason?.clipped(toByteCount: 256)
        self.retryAfter = retryAfter?.roundedDown(to: .milliseconds)
        self.content = content
    }

    /// Creates the frame from its body.
    ///
    /// - Throws: The errors of ``FrameBody/init(parsing:)``.
    package init(parsing body: RawSpan) throws(WireError) {
        var correlation: UInt64?
        var status: ErrorCode?
        var reason: String?
        var retryAfter: Duration?
        var content: [UInt8]?
        var reader = try TLVReader(wholeBodyWithContent: body)
        while let field = try reader.next() {
            switch field.tag {
            case .correlation: try correlation.fill(.correlation, field.uint64())
            case .status: try status.fill(.status, ErrorCode(rawValue: field.uint16()))
            case .reason: try reason.fill(.reason, field.string(maxByteCount: 256))
            case .retryAfter: try retryAfter.fill(.retryAfter, field.duration(.milliseconds))
            case .content: try content.fill(.content, field.content())
            default: try field.skip()
            }
        }
        self.correlation = try correlation.required(.correlation)
        self.status = try status.required(.status)
        self.reason = reason
        self.retryAfter = retryAfter
        self.content = content
    }

    /// Appends the fields of the body.
    package func encode(into writer: inout TLVWriter) {
        writer.append(.correlation, uint64: correlation)
        writer.append(.status, uint16: status.rawValue)
        if let reason { writer.append(.reason, string: reason) }
        if let retryAfter { writer.append(.retryAfter, duration: retryAfter, .milliseconds) }
        if let content { writer.append(.content, bytes: content) }
    }
}

/// The frame that cancels a request, because its sender no longer waits for the response (S-56).
package struct CancelRequest: FrameBody {
    /// The type `cancel`, 0x6003.
    package static let type = FrameType.cancel

    /// The correlation of the request.
    package let correlation: UInt64

    /// Creates the frame.
    package init(correlation: UInt64) {
        self.correlation = correlation
    }

    /// Creates the frame from its body.
    ///
    /// - Throws: The errors of ``FrameBody/init(parsing:)``.
    package init(parsing body: RawSpan) throws(WireError) {
        var correlation: UInt64?
        var reader = try TLVReader(wholeBody: body)
        while let field = try reader.next() {
            switch field.tag {
            case .correlation: try correlation.fill(.correlation, field.uint64())
            default: try field.skip()
            }
        }
        self.correlation = try correlation.required(.correlation)
    }

    /// Appends the fields of the body.
    package func encode(into writer: inout TLVWriter) {
        writer.append(.correlation, uint64: correlation)
    }
}
