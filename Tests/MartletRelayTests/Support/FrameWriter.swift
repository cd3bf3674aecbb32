import MartletLink
import MartletWire

/// Encodes a client's frames with correct sequences. Tests can encode invalid frames explicitly.
struct FrameWriter: Sendable {
    private var sequences: [SessionID: UInt32] = [:]

    /// A frame that satisfies the rules of its type.
    mutating func frame(
        _ body: some FrameBody, on session: SessionID = .control, flags: FrameFlags = []
    ) -> [UInt8] {
        frame(type(of: body).type, body.encode(), on: session, flags: flags)
    }

    /// A frame of any type. A reliable frame gets the session's next sequence.
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

    /// The reply of a correct peer: an acknowledgement with unlimited credit, or a pong.
    static let standardReply: AutoReply = { writer, frame in
        if frame.header.flags.contains(.reliable) {
            let part = SessionAck(
                session: frame.header.session, cumulative: UInt64(frame.header.sequence), creditLimit: 1 << 40)
            return writer.frame(Ack(linkCredit: 1 << 40, sessions: [part]))
        }
        guard let ping: Ping = try? frame.parsed() else { return [] }
        return writer.frame(Pong(nonce: ping.nonce, echo: Echo(timestamp: frame.header.timestamp, delay: .zero)))
    }

    /// A text message.
    mutating func text(
        _ text: String, counter: UInt64, on session: SessionID, flags: FrameFlags = []
    ) -> [UInt8] {
        frame(
            .data, Message.encodeClient(counter: counter, kind: .text, content: Message.textContent(text)),
            on: session, flags: flags)
    }

    /// Encodes the same frames again, under the sequences used last.
    mutating func repeating(_ frames: (inout FrameWriter) -> [UInt8]) -> [UInt8] {
        for session in sequences.keys where session != .control { sequences[session]! -= 1 }
        return frames(&self)
    }

    /// Continues after the sequence that the other side has received.
    mutating func rewind(_ session: SessionID, to received: UInt64) {
        sequences[session] = UInt32(received)
    }

    /// A frame without a sequence.
    static func bytes(_ type: FrameType, _ body: [UInt8], flags: FrameFlags = []) -> [UInt8] {
        FrameHeader(type: type, flags: flags).frame(body: body.rawBytes)
    }

    /// A header without its body.
    static func header(_ type: FrameType, bodyByteCount: UInt32, session: SessionID = .control) -> [UInt8] {
        var header = FrameHeader(type: type, session: session).frame(body: [UInt8]().rawBytes)
        for index in 0..<4 { header[20 + index] = UInt8(truncatingIfNeeded: bodyByteCount >> UInt32(24 - 8 * index)) }
        return header
    }

    /// The hello of a device.
    static func hello(
        _ account: String = "alice", device: UInt64 = 1, credential: String? = nil, limits: Limits = Limits(),
        resume: ResumePoint? = nil
    ) -> Hello {
        Hello(
            limits: limits, device: DeviceID(rawValue: device), account: AccountName(account)!,
            credential: credential.flatMap { Credential($0) }, resume: resume)
    }
}

/// A received frame.
struct ReceivedFrame: Sendable {
    let header: FrameHeader
    let body: [UInt8]

    /// The body as its expected type; throws for another type.
    func parsed<Body: FrameBody>(as _: Body.Type = Body.self) throws -> Body {
        guard header.type == Body.type else { throw PeerError.frame(header.type, notice) }
        return try Body(parsing: body.rawBytes)
    }

    /// The notice of a goaway or reject.
    var notice: Notice? {
        switch header.type {
        case .goaway: try? GoAway(parsing: body.rawBytes).notice
        case .reject: try? Reject(parsing: body.rawBytes).notice
        default: nil
        }
    }
}

/// Splits received bytes into frames.
struct FrameSplitter: ~Copyable {
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
