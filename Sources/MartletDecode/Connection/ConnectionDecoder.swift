internal import MartletWire

/// Decodes the bytes of both directions of a connection into frames, and follows its handshake and its link
/// (Specs/wire.md §3, §5).
///
/// Before welcome the rules and limits of the handshake apply, after it those of welcome. If the handshake is not in
/// the input, ``Assumptions`` apply. The first fault ends its direction; the other direction continues. `onEvent`
/// receives the frames in the order of the input.
///
/// ```swift
/// let decoder = ConnectionDecoder { event in
///     if case .frame(let frame) = event { print(frame.header.type, try? frame.fields()) }
/// }
/// decoder.receive(bytes, on: .first)
/// decoder.finish(.first)
/// ```
///
/// A decoder can be used by one thread at a time.
public final class ConnectionDecoder {
    /// The properties of a connection whose handshake is not in the input.
    public struct Assumptions: Sendable {
        /// The maximum size of a body, in bytes.
        public var bodyByteCount = 1 << 20
        /// The maximum size of a message, in bytes.
        public var messageByteCount = 16 << 20
        /// The position at which the input of a link begins.
        public var beginning = LinkHistory.Beginning.anywhere
        /// Whether bodies may be compressed.
        public var allowsZlib = true

        /// Creates the defaults: bodies of up to 1 MiB, messages of up to 16 MiB, and compression.
        public init() {}
    }

    /// The phase of a connection.
    public enum Phase: Sendable {
        /// The phase before the first frame, if the input can begin anywhere.
        case unknown
        /// The phase before welcome.
        case handshake
        /// The phase after welcome.
        case established
    }

    /// The stream of one direction.
    private final class Stream {
        let cutter: FrameCutter
        /// Whether the input contains the first byte of the connection in this direction.
        let hasBeginning: Bool

        init(_ cutter: FrameCutter, hasBeginning: Bool) {
            self.cutter = cutter
            self.hasBeginning = hasBeginning
        }
    }

    /// The types of a server's frames before welcome.
    private static let beforeWelcome: Set<FrameType> = [.auth, .welcome, .reject, .goaway]
    private static let serverTypes: Set<FrameType> = [.welcome, .reject, .accepted, .gap, .update]
    private static let creditedTypes: Set<FrameType> = [.data, .request, .response]
    /// The maximum size of a message that uses no credit, in bytes (Specs/session.md §7).
    private static let maxUncreditedByteCount = 64 << 10

    /// The number of the connection in the positions of its events.
    public let number: Int
    private let links: LinkHistories
    private let onEvent: (DecodeEvent) -> Void
    private var streams: [StreamDirection: Stream] = [:]
    private var inflater = Inflater()
    private var assumptions: Assumptions
    /// The direction of the client's bytes; nil if it is unknown.
    public private(set) var clientDirection: StreamDirection?
    private var phase: Phase
    private var maxMessageByteCount: Int
    private var allowsZlib: Bool
    /// Whether frames between hello and welcome may be compressed, because they belong to the resumed link.
    private var resumesWithZlib = false
    private var history: LinkHistory?
    /// The time of the latest bytes, for events without a frame.
    private var time: UInt64?

    /// Creates a decoder for a connection.
    ///
    /// - Parameters:
    ///   - number: The number of the connection in the positions of its events.
    ///   - phase: The phase in which the input begins.
    ///   - links: The histories of links. Decoders of connections of the same client share one table, so that a resumed
    ///     link is followed from one connection to the next.
    ///   - assumptions: The properties of the connection while its handshake is not in the input.
    ///   - onEvent: A closure that receives the events.
    public init(
        _ number: Int = 1, in phase: Phase = .unknown, links: LinkHistories = LinkHistories(),
        assuming assumptions: Assumptions = Assumptions(), onEvent: @escaping (DecodeEvent) -> Void
    ) {
        self.number = number
        self.phase = phase
        self.links = links
        self.assumptions = assumptions
        self.onEvent = onEvent
        maxMessageByteCount = assumptions.messageByteCount
        allowsZlib = assumptions.allowsZlib && phase != .handshake
    }

    /// The sender of the bytes of a direction; nil if it is unknown.
    public func sender(of direction: StreamDirection) -> PeerRole? {
        clientDirection.map { $0 == direction ? .client : .server }
    }

    /// Sets the direction of the client's bytes, unless frames have determined it.
    public func setClient(_ direction: StreamDirection) { clientDirection = clientDirection ?? direction }

    /// Whether a frame was decoded in a direction.
    func hasFrames(_ direction: StreamDirection) -> Bool { (streams[direction]?.cutter.frameCount ?? 0) > 0 }

    /// Whether bytes were received in a direction.
    func hasBytes(_ direction: StreamDirection) -> Bool { streams[direction] != nil }

    /// Emits a note at the current position of a direction.
    func note(_ direction: StreamDirection, _ text: String, time: UInt64? = nil) {
        self.time = time ?? self.time
        onEvent(.note(position(direction, streams[direction]?.cutter.offset ?? 0), text))
    }

    /// Receives the next bytes of a direction. Bytes after a fault are discarded.
    ///
    /// - Parameters:
    ///   - bytes: The bytes.
    ///   - direction: Their direction.
    ///   - time: The time of capture, in nanoseconds since 1970.
    ///   - hasBeginning: Whether the first bytes of the direction are the first bytes of the connection. Otherwise a
    ///     first frame other than hello is not a fault.
    public func receive(
        _ bytes: [UInt8], on direction: StreamDirection, time: UInt64? = nil, hasBeginning: Bool = true
    ) {
        self.time = time
        let stream = stream(direction, hasBeginning: hasBeginning)
        guard stream.cutter.fault == nil else { return }
        stream.cutter.expectsHello =
            phase == .handshake && stream.hasBeginning && stream.cutter.frameCount == 0
            && sender(of: direction) == .client
        stream.cutter.feed(bytes)
        var offset = stream.cutter.offset
        do throws(DecodeFault) {
            while let cut = try stream.cutter.next() {
                offset = cut.offset
                do throws(DecodeFault) { try handle(cut, on: direction, stream) } catch { throw error.of(cut.header) }
                offset = stream.cutter.offset
            }
        } catch {
            onEvent(.fault(position(direction, offset), stream.cutter.fail(error)))
        }
    }

    /// Ends a direction at the end of its stream. An incomplete frame is a fault.
    public func finish(_ direction: StreamDirection, time: UInt64? = nil) {
        self.time = time ?? self.time
        guard let stream = streams[direction] else { return }
        do throws(DecodeFault) { try stream.cutter.finish() } catch {
            onEvent(.fault(position(direction, stream.cutter.offset), error))
        }
    }

    /// Ends a direction of an incomplete connection or capture. An incomplete frame is reported as a note with the
    /// reason.
    func abandon(_ direction: StreamDirection, _ reason: String) {
        guard let stream = streams[direction], stream.cutter.fault == nil, stream.cutter.bufferedByteCount > 0 else {
            return
        }
        note(direction, "\(reason) inside a frame, of which \(stream.cutter.bufferedByteCount) bytes are present")
    }

    private func stream(_ direction: StreamDirection, hasBeginning: Bool) -> Stream {
        if let stream = streams[direction] { return stream }
        let limit = phase == .handshake ? Limits.maxHandshakeBodyByteCount : assumptions.bodyByteCount
        let stream = Stream(FrameCutter(maxBodyByteCount: limit), hasBeginning: hasBeginning)
        streams[direction] = stream
        return stream
    }

    private func position(_ direction: StreamDirection, _ offset: Int) -> StreamPosition {
        StreamPosition(connection: number, sender: sender(of: direction), offset: offset, time: time)
    }

    private func checkFirst(_ header: FrameHeader, _ stream: Stream) throws(DecodeFault) {
        if phase == .handshake, stream.hasBeginning, header.type != .hello {
            throw DecodeFault(.expectedHello, "\(header.type) before hello")
        }
    }

    // MARK: Frames

    private func handle(_ cut: FrameCutter.Cut, on direction: StreamDirection, _ stream: Stream) throws(DecodeFault) {
        let header = cut.header
        recognize(header, on: direction)
        let sender = sender(of: direction)
        let key = sender ?? (direction == .first ? .client : .server)
        try checkCompression(header, key)
        if sender == .client, stream.cutter.frameCount == 1 { try checkFirst(header, stream) }
        try checkPhase(header, sender)
        var frame = DecodedFrame(
            position: position(direction, cut.offset), header: header, body: cut.body, content: .unknown)
        let isKnown = try checkRule(header, sender)
        if header.compression == .zlib, isKnown {
            frame.body = try inflate(cut.body, limit: stream.cutter.maxBodyByteCount)
        }
        let history = history ?? begin()
        var isWhole = true
        var isSure = true
        if header.flags.contains(.reliable) {
            let position = history.locate(header, from: key)
            (frame.sequence, frame.isRepeated) = (position.sequence, position.isRepeated)
            frame.missingCount = position.missingCount
            isSure = history.isSure(header.session, key) && !frame.isRepeated
            isWhole = try join(&frame, isKnown: isKnown, history, key)
        }
        if isKnown, isWhole { try parse(&frame, sender, isSure: isSure) }
        if case .frame(let value) = frame.content { history.follow(value, header, from: key) }
        frame.room = history.room(of: header.session)
        onEvent(.frame(frame))
        if case .frame(let value) = frame.content { follow(value) }
    }

    /// Determines the client's direction and the phase from the first frames.
    private func recognize(_ header: FrameHeader, on direction: StreamDirection) {
        if clientDirection == nil {
            if header.type == .hello { clientDirection = direction }
            if Self.serverTypes.contains(header.type) { clientDirection = direction.other }
        }
        guard phase == .unknown else { return }
        switch header.type {
        case .hello, .reject:
            phase = .handshake
            allowsZlib = false
            for stream in streams.values { stream.cutter.maxBodyByteCount = Limits.maxHandshakeBodyByteCount }
        case .auth, .welcome, .goaway: break
        default: phase = .established
        }
    }

    private func begin() -> LinkHistory {
        let history = LinkHistory(phase == .handshake ? .link : assumptions.beginning, budget: links.budget)
        self.history = history
        return history
    }

    private func checkCompression(_ header: FrameHeader, _ sender: PeerRole) throws(DecodeFault) {
        guard header.compression != .none else { return }
        if header.type.rule?.isHandshake == true {
            throw DecodeFault(.compressionNotAllowed, "a compressed \(header.type)")
        }
        let isResuming = phase == .handshake && sender == .client && resumesWithZlib
        if !allowsZlib, !isResuming { throw DecodeFault(.compressionNotAllowed, "compression was not agreed upon") }
    }

    /// Checks that the type is permitted before or after welcome (Specs/wire.md §5).
    private func checkPhase(_ header: FrameHeader, _ sender: PeerRole?) throws(DecodeFault) {
        guard let sender else { return }
        switch (sender, phase) {
        case (_, .unknown), (.client, .handshake): break
        case (.client, .established):
            if header.type == .hello { throw DecodeFault(.protocolViolation, "hello after welcome") }
        case (.server, .handshake):
            if !Self.beforeWelcome.contains(header.type) {
                throw DecodeFault(.protocolViolation, "\(header.type) before welcome")
            }
        case (.server, .established):
            if header.type == .welcome || header.type == .reject {
                throw DecodeFault(.protocolViolation, "\(header.type) after welcome")
            }
        }
    }

    /// Returns whether the type is known. Throws if its header violates the rule of the type (Specs/wire.md §13.1).
    private func checkRule(_ header: FrameHeader, _ sender: PeerRole?) throws(DecodeFault) -> Bool {
        guard let rule = header.type.rule else {
            if header.type.isCritical { throw DecodeFault(.unknownCriticalFrame(header.type)) }
            return false
        }
        guard rule.allows(header) else {
            throw DecodeFault(
                .protocolViolation, "\(header.type) with a flag, a sequence or a session that it must not have")
        }
        if let sender,
            header.type == .hello && sender == .server
                || Self.serverTypes.contains(header.type) && sender == .client
        {
            throw DecodeFault(.protocolViolation, "\(header.type) from a \(sender.rawValue)")
        }
        if header.type == .open, let sender, (header.session.rawValue % 2 == 1) != (sender == .client) {
            throw DecodeFault(.protocolViolation, "a \(sender.rawValue) opens session \(header.session)")
        }
        return true
    }

    private func inflate(_ body: [UInt8], limit: Int) throws(DecodeFault) -> [UInt8] {
        do throws(WireError) { return try inflater.inflate(body.rawBytes, limit: limit) } catch {
            throw DecodeFault(error)
        }
    }

    /// Joins the body with the fragments before it. Returns whether the frame completes a message.
    private func join(
        _ frame: inout DecodedFrame, isKnown: Bool, _ history: LinkHistory, _ sender: PeerRole
    ) throws(DecodeFault) -> Bool {
        var header = frame.header
        if frame.isRepeated {
            guard isKnown, header.flags.contains(.moreFragments) else { return true }
            frame.content = .fragment(nil)
            return false
        }
        // The flags of an unknown type have no meaning, but its position between fragments is checked.
        if !isKnown { header.flags.remove(.moreFragments) }
        let limit = Self.creditedTypes.contains(header.type) ? maxMessageByteCount : Self.maxUncreditedByteCount
        do throws(DecodeFault) {
            switch try history.join(header, frame.body, from: sender, limit: limit) {
            case .whole(let body, let fragmentCount):
                frame.body = body
                frame.fragmentCount = fragmentCount
                return true
            case .part(let number): frame.content = .fragment(number)
            case .discarded: frame.content = .fragment(nil)
            }
        } catch {
            guard error.code == .messageTooLarge else { throw error }
            frame.content = .refused(error)
        }
        return false
    }

    /// Parses a complete body. An invalid body counts as a fragment if the beginning of its message may not be in the
    /// input.
    private func parse(_ frame: inout DecodedFrame, _ sender: PeerRole?, isSure: Bool) throws(DecodeFault) {
        let type = frame.header.type
        do throws(WireError) {
            frame.content = .frame(try Frame.parse(type: type, body: frame.body.rawBytes))
        } catch {
            if !isSure, type.rule?.allowsFragments == true { return frame.content = .fragment(nil) }
            try refuse(&frame, DecodeFault(error), error)
        }
        // On a link without rooms, a server's messages are commands in the form of a client's (W-61).
        if case .frame(.message(let message)) = frame.content, let sender,
            (message.relay == nil) != (sender == .client),
            sender == .client || message.kind != .command
        {
            let text = sender == .client ? "the relay's fields from a client" : "the relay's fields are missing"
            frame.content = .refused(DecodeFault(.invalidValue, text))
        }
    }

    /// Refuses only the frame if a field of an identifiable message or request is invalid (Specs/wire.md §12). Throws
    /// otherwise.
    private func refuse(_ frame: inout DecodedFrame, _ fault: DecodeFault, _ error: WireError) throws(DecodeFault) {
        guard error.scope == .frame else { throw fault }
        switch frame.header.type {
        case .data: frame.content = .refused(fault)
        case .request where Request.correlation(in: frame.body.rawBytes) != nil: frame.content = .refused(fault)
        case .hello: throw DecodeFault(.invalidHello, fault.text)
        default: throw fault
        }
    }

    // MARK: Effects of frames on later frames

    private func follow(_ frame: Frame) {
        switch frame {
        case .hello(let hello):
            let resumed = hello.resume.map { links[$0.link] ?? LinkHistory(.anywhere, budget: links.budget) }
            history = resumed ?? LinkHistory(.link, budget: links.budget)
            resumesWithZlib = resumed != nil && hello.features.contains(.zlib)
        case .welcome(let welcome):
            phase = .established
            allowsZlib = welcome.features.contains(.zlib)
            maxMessageByteCount = welcome.limits.maxMessageByteCount
            assumptions.bodyByteCount = welcome.limits.maxBodyByteCount
            for stream in streams.values { stream.cutter.maxBodyByteCount = welcome.limits.maxBodyByteCount }
            let features = welcome.features.available(in: welcome.version)
            if features.contains(.compact) {
                for stream in streams.values { stream.cutter.allowPackets(deflated: features.contains(.sharedDeflate)) }
            }
            if let history { links.insert(history, as: welcome.link) }
        case .reject:
            history = nil
        default: break
        }
    }
}
