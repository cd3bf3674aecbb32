import MartletProtocol
import MartletWire

/// Writes a client's frames by hand: right ones, with the sequences counted, unless a test asks for wrong ones.
struct Speaker: Sendable {
    private var sequences: [SessionID: UInt32] = [:]

    /// A frame that keeps the rules of its type.
    mutating func frame(
        _ body: some FrameBody, on session: SessionID = .control, flags: FrameFlags = []
    ) -> [UInt8] {
        frame(type(of: body).type, body.encode(), on: session, flags: flags)
    }

    /// A frame of any type; reliable ones get the session's next sequence.
    mutating func frame(
        _ type: FrameType, _ body: [UInt8], on session: SessionID = .control, flags: FrameFlags = [],
        compression: Compression = .none
    ) -> [UInt8] {
        var flags = flags
        if type.rule?.isReliable == true { flags.insert(.reliable) }
        var sequence: UInt32 = 0
        if flags.contains(.reliable) {
            sequence = (sequences[session] ?? 0) + 1
            sequences[session] = sequence
        }
        let header = FrameHeader(
            type: type, sequence: sequence, flags: flags, compression: compression, session: session)
        return header.frame(body: body.rawBytes)
    }

    /// What a peer that keeps the rules answers at once: an acknowledgement, with credit without end, or a pong.
    static let polite: Manners = { speaker, frame in
        if frame.header.flags.contains(.reliable) {
            let part = SessionAck(
                session: frame.header.session, cumulative: UInt64(frame.header.sequence), creditLimit: 1 << 40)
            return speaker.frame(Ack(linkCredit: 1 << 40, sessions: [part]))
        }
        guard let ping: Ping = try? frame.parsed() else { return [] }
        return speaker.frame(Pong(nonce: ping.nonce, echo: Echo(timestamp: frame.header.timestamp, delay: .zero)))
    }

    /// A text message.
    mutating func text(
        _ text: String, counter: UInt64, on session: SessionID, flags: FrameFlags = []
    ) -> [UInt8] {
        frame(
            .data, Message.encodeClient(counter: counter, kind: .text, content: Message.textContent(text)),
            on: session, flags: flags)
    }

    /// What `words` say under the sequences that were used last: the same frames once more.
    mutating func repeating(_ words: (inout Speaker) -> [UInt8]) -> [UInt8] {
        for session in sequences.keys where session != .control { sequences[session]! -= 1 }
        return words(&self)
    }

    /// Goes back to where the other side is on a session, to say again what it lacks.
    mutating func rewind(_ session: SessionID, to received: UInt64) {
        sequences[session] = UInt32(received)
    }

    /// A frame on its own.
    static func bytes(_ type: FrameType, _ body: [UInt8], flags: FrameFlags = []) -> [UInt8] {
        FrameHeader(type: type, flags: flags).frame(body: body.rawBytes)
    }

    /// A header without the body that it announces.
    static func header(_ type: FrameType, bodyByteCount: UInt32, session: SessionID = .control) -> [UInt8] {
        var header = FrameHeader(type: type, session: session).frame(body: [UInt8]().rawBytes)
        for index in 0..<4 { header[20 + index] = UInt8(truncatingIfNeeded: bodyByteCount >> UInt32(24 - 8 * index)) }
        return header
    }

    /// What a device says first.
    static func hello(
        _ account: String = "alice", device: UInt64 = 1, credential: String? = nil, limits: Limits = Limits(),
        resume: ResumePoint? = nil
    ) -> Hello {
        Hello(
            limits: limits, device: DeviceID(rawValue: device), account: AccountName(account)!,
            credential: credential.flatMap { Credential($0) }, resume: resume)
    }
}

/// A frame as it came off the wire.
struct ReceivedFrame: Sendable {
    let header: FrameHeader
    let body: [UInt8]

    /// The body as the type it has to be; throws when it is another.
    func parsed<Body: FrameBody>(as _: Body.Type = Body.self) throws -> Body {
        guard header.type == Body.type else { throw Surprise.frame(header.type, notice) }
        return try Body(parsing: body.rawBytes)
    }

    /// What goaway or reject says.
    var notice: Notice? {
        switch header.type {
        case .goaway: try? GoAway(parsing: body.rawBytes).notice
        case .reject: try? Reject(parsing: body.rawBytes).notice
        default: nil
        }
    }
}

/// Cuts what a relay sends into frames.
struct FrameCutter: ~Copyable {
    private var framer = Framer(maxBodyByteCount: 1 << 20)

    mutating func frames(in bytes: RawSpan) throws -> [ReceivedFrame] {
        var frames: [ReceivedFrame] = []
        _ = try framer.consume(bytes) { header, body throws(WireError) in
            frames.append(ReceivedFrame(header: header, body: [UInt8](copying: body)))
            return .proceed
        }
        return frames
    }
}
