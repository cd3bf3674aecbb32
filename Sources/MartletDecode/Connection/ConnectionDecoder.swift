internal import MartletWire

/// Decodes the bytes of both directions of one connection into frames, and follows its handshake and its link
/// (Specs/wire.md §3, §5).
///
/// Before welcome the rules and limits of the handshake apply, behind it those that welcome names. Where the handshake
/// was not in the input, ``Assumptions`` apply. The first fault ends a direction; the other one is read on. Frames are
/// given to the `onEvent` of the initializer in the order of the input.
///
/// ```swift
/// let decoder = ConnectionDecoder { event in
///     if case .frame(let frame) = event { print(frame.header.type, try? frame.fields()) }
/// }
/// decoder.receive(bytes, on: .first)
/// decoder.finish(.first)
/// ```
///
/// A decoder is used from one thread at a time.
public final class ConnectionDecoder {
    /// What holds for a connection whose handshake is not in the input.
    public struct Assumptions: Sendable {
        /// The longest body, in bytes.
        public var bodyByteCount = 1 << 20
        /// The longest message, in bytes.
        public var messageByteCount = 16 << 20
        /// What is known of links whose beginning is not in the input.
        public var beginning = LinkHistory.Beginning.anywhere
        /// Whether bodies may be compressed.
        public var allowsZlib = true

        /// The defaults: bodies up to 1 MiB, messages up to 16 MiB, with compression.
        public init() {}
    }

    /// The phase of a connection.
    public enum Phase: Sendable {
        /// Not known until the first frame.
        case unknown
        /// Before welcome.
        case handshake
        /// Behind welcome.
        case established
    }

    /// The stream of one direction.
    private final class Stream {
        let cutter: FrameCutter
        /// Whether the input has the stream from the first byte of the connection on.
        let hasBeginning: Bool

        init(_ cutter: FrameCutter, hasBeginning: Bool) {
            self.cutter = cutter
            self.hasBeginning = hasBeginning
        }
    }

    /// Frames of a server before welcome.
    private static let beforeWelcome: Set<FrameType> = [.welcome, .reject, .goaway]
    private static let serverTypes: Set<FrameType> = [.welcome, .reject, .accepted, .gap]
    private static let creditedTypes: Set<FrameType> = [.data, .request, .response]
    /// The longest message that costs no credit, in bytes (Specs/session.md §7).
    private static let maxUncreditedByteCount = 64 << 10

    /// The number of the connection in the positions of its events.
    public let number: Int
    private let links: LinkTable
    private let onEvent: (DecodeEvent) -> Void
    private var streams: [StreamDirection: Stream] = [:]
    private var inflater = Inflater()
    private var assumptions: Assumptions
    /// The direction of the client's bytes, once it is known.
    public private(set) var clientDirection: StreamDirection?
    private var phase: Phase
    private var maxMessageByteCount: Int
    private var allowsZlib: Bool
    /// Whether frames behind a hello and before welcome may be compressed: they belong to the link that it resumes.
    private var resumesWithZlib = false
    private var history: LinkHistory?
    /// The time of the latest bytes, for events without a frame.
    private var time: UInt64?

    /// Creates a decoder for a connection before its first byte.
    ///
    /// - Parameters:
    ///   - number: the number of the connection in the positions of its events.
    ///   - phase: the phase in which the input begins.
    ///   - links: what is known of links; the decoders of a client's connections share one table, so that a resumed
    ///     link is followed from one to the next.
    ///   - assumptions: what holds while the handshake is not in the input.
    ///   - onEvent: receives what is decoded.
    public init(
        _ number: Int = 1, in phase: Phase = .unknown, links: LinkTable = LinkTable(),
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

    /// The sender of the bytes of a direction; `nil` while it is not known.
    public func sender(of direction: StreamDirection) -> PeerRole? {
        clientDirection.map { $0 == direction ? .client : .server }
    }

    /// Sets the direction of the client's bytes, unless frames have determined it.
    public func setClient(_ direction: StreamDirection) { clientDirection = clientDirection ?? direction }

    /// Whether a direction had a frame.
    func hasFrames(_ direction: StreamDirection) -> Bool { (streams[direction]?.cutter.frameCount ?? 0) > 0 }

    /// Whether a direction had bytes.
    func hasBytes(_ direction: StreamDirection) -> Bool { streams[direction] != nil }

    /// Emits a note at the current position of a direction.
    func note(_ direction: StreamDirection, _ text: String, time: UInt64? = nil) {
        self.time = time ?? self.time
        onEvent(.note(position(direction, streams[direction]?.cutter.offset ?? 0), text))
    }

    /// Receives the next bytes of a direction; after a fault they are dropped.
    ///
    /// - Parameters:
    ///   - time: when they were captured, in nanoseconds since 1970.
    ///   - hasBeginning: whether the first bytes of the direction are those of the connection. Where they are not, a
    ///     first frame other than hello is no fault.
    public func receive(
        _ bytes: [UInt8], on direction: StreamDirection, time: UInt64? = nil, hasBeginning: Bool = true
    ) {
        self.time = time
        let stream = stream(direction, hasBeginning: hasBeginning)
        guard stream.cutter.fault == nil else { return }
        stream.cutter.feed(bytes)
        var offset = stream.cutter.offset
        do throws(DecodeFault) {
            while let cut = try stream.cutter.next() {
                offset = cut.offset
                do throws(DecodeFault) { try handle(cut, on: direction, stream) } catch { throw error.of(cut.header) }
                offset = stream.cutter.offset
            }
            try checkPending(direction, stream)
        } catch {
            onEvent(.fault(position(direction, offset), stream.cutter.fail(error)))
        }
    }

    /// Ends a direction in order; an incomplete frame is a fault.
    public func finish(_ direction: StreamDirection, time: UInt64? = nil) {
        self.time = time ?? self.time
        guard let stream = streams[direction] else { return }
        do throws(DecodeFault) { try stream.cutter.finish() } catch {
            onEvent(.fault(position(direction, stream.cutter.offset), error))
        }
    }

    /// Ends a direction whose connection or capture was cut off; an incomplete frame becomes a note with the reason.
    func abandon(_ direction: StreamDirection, _ reason: String) {
        guard let stream = streams[direction], stream.cutter.fault == nil, stream.cutter.bufferedByteCount > 0 else {
            return
        }
        note(direction, "\(reason) inside a frame, of which \(stream.cutter.bufferedByteCount) bytes were there")
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

    /// Checks the type of a client's first frame as soon as its header is there.
    private func checkPending(_ direction: StreamDirection, _ stream: Stream) throws(DecodeFault) {
        guard let header = stream.cutter.pendingHeader, stream.cutter.frameCount == 0, sender(of: direction) == .client
        else {
            return
        }
        do throws(DecodeFault) { try checkFirst(header, stream) } catch { throw error.of(header) }
    }

    private func checkFirst(_ header: FrameHeader, _ stream: Stream) throws(DecodeFault) {
        if phase == .handshake, stream.hasBeginning, header.type != .hello {
            throw DecodeFault(.expectedHello, "\(header.type) before hello")
        }
    }

    // MARK: A frame

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

    /// Recognizes the client's direction and the phase by the first frames.
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
        case .welcome, .goaway: break
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

    /// What may be sent before and after welcome (Specs/wire.md §5).
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

    /// Whether the type is known; throws what its header must not be (Specs/wire.md §13.1).
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
        // Flags of an unknown type have no meaning, but its place between fragments is checked.
        if !isKnown { header.flags.remove(.moreFragments) }
        let limit = Self.creditedTypes.contains(header.type) ? maxMessageByteCount : Self.maxUncreditedByteCount
        do throws(DecodeFault) {
            switch try history.join(header, frame.body, from: sender, limit: limit) {
            case .whole(let body, let fragmentCount):
                frame.body = body
                frame.fragmentCount = fragmentCount
                return true
            case .part(let number): frame.content = .fragment(number)
            case .givenUp: frame.content = .fragment(nil)
            }
        } catch {
            guard error.code == .messageTooLarge else { throw error }
            frame.content = .refused(error)
        }
        return false
    }

    /// Parses a whole body. Where it may be the end of a message whose beginning is not in the input, and does not
    /// parse, it counts as a fragment.
    private func parse(_ frame: inout DecodedFrame, _ sender: PeerRole?, isSure: Bool) throws(DecodeFault) {
        let type = frame.header.type
        do throws(WireError) {
            frame.content = .frame(try Frame.parse(type: type, body: frame.body.rawBytes))
        } catch {
            if !isSure, type.rule?.allowsFragments == true { return frame.content = .fragment(nil) }
            try refuse(&frame, DecodeFault(error), error)
        }
        if case .frame(.message(let message)) = frame.content, let sender, (message.relay == nil) != (sender == .client)
        {
            let text = sender == .client ? "the relay's fields from a client" : "the relay's fields are missing"
            frame.content = .refused(DecodeFault(.invalidValue, text))
        }
    }

    /// Refuses only the frame where a field of a message or a request is wrong and the frame can be named
    /// (Specs/wire.md §12); throws otherwise.
    private func refuse(_ frame: inout DecodedFrame, _ fault: DecodeFault, _ error: WireError) throws(DecodeFault) {
        guard error.scope == .frame else { throw fault }
        switch frame.header.type {
        case .data: frame.content = .refused(fault)
        case .request where Request.correlation(in: frame.body.rawBytes) != nil: frame.content = .refused(fault)
        case .hello: throw DecodeFault(.invalidHello, fault.text)
        default: throw fault
        }
    }

    // MARK: The effect of a frame on those behind it

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
            if let history { links.remember(history, as: welcome.link) }
        case .reject:
            history = nil
        default: break
        }
    }
}
