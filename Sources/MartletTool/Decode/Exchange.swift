import MartletWire

/// Both ways of one connection: what was negotiated, whose turn the handshake is, and every frame with what it means.
///
/// A way goes from reading to dead, by a fault, and never back. Whether the handshake was seen decides what is known:
/// before welcome its own rules and limits hold, behind it those that welcome names. Where it was not seen, bodies up
/// to `assumedBodyByteCount` are believed, and compression is.
final class Exchange {
    /// What is known of the stream before its first byte.
    struct Assumptions: Sendable {
        /// The longest body, in bytes, where the handshake was not seen.
        var bodyByteCount = 1 << 20
        /// The longest message, in bytes, where the handshake was not seen.
        var messageByteCount = 16 << 20
        /// What is known of links whose beginning was not seen.
        var beginning = LinkHistory.Beginning.anywhere
        /// Whether bodies may be compressed where the handshake was not seen.
        var allowsZlib = true
    }

    /// How far the connection is.
    enum Phase {
        /// Nothing tells; the first frame will.
        case unknown
        /// Before welcome.
        case handshake
        /// Behind it.
        case established
    }

    /// One of the two ways.
    private final class Way {
        let cutter: FrameCutter
        /// Whether the stream is known to begin with the connection.
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

    let number: Int
    private let links: LinkTable
    private let emit: (DecodeEvent) -> Void
    private var ways: [Way?] = [nil, nil]
    private var inflater = Inflater()
    private var assumptions: Assumptions
    /// Which way the client sends on, once that is known.
    private(set) var clientWay: Int?
    private var phase: Phase
    private var maxMessageByteCount: Int
    private var allowsZlib: Bool
    /// Whether frames right behind a hello may be compressed, since they are of the link that it resumes.
    private var resumesWithZlib = false
    private var history: LinkHistory?
    /// The last frame's time, for what is said between frames.
    private var time: UInt64?

    /// A connection of which nothing was seen. What comes out goes to `emit`.
    init(
        _ number: Int = 1, in phase: Phase = .unknown, links: LinkTable = LinkTable(),
        assuming assumptions: Assumptions = Assumptions(), _ emit: @escaping (DecodeEvent) -> Void
    ) {
        self.number = number
        self.phase = phase
        self.links = links
        self.assumptions = assumptions
        self.emit = emit
        maxMessageByteCount = assumptions.messageByteCount
        allowsZlib = assumptions.allowsZlib && phase != .handshake
    }

    /// Who sends on the way.
    func sender(of way: Int) -> Sender? { clientWay.map { $0 == way ? .client : .server } }

    /// Says which way is the client's, for who knows it otherwise.
    func setClient(_ way: Int) { clientWay = clientWay ?? way }

    /// Whether frames came on the way.
    func hasFrames(_ way: Int) -> Bool { (ways[way]?.cutter.frameCount ?? 0) > 0 }

    /// Whether bytes came on the way.
    func hasBytes(_ way: Int) -> Bool { ways[way] != nil }

    /// Says something about the way, where it is now.
    func note(_ index: Int, _ text: String, time: UInt64? = nil) {
        self.time = time ?? self.time
        emit(.note(place(index, ways[index]?.cutter.offset ?? 0), text))
    }

    /// Reads bytes that came on a way. `hasBeginning` tells whether its stream was seen from the first byte.
    func receive(_ bytes: [UInt8], on index: Int, time: UInt64? = nil, hasBeginning: Bool = true) {
        self.time = time
        let way = way(index, hasBeginning: hasBeginning)
        guard way.cutter.fault == nil else { return }
        way.cutter.feed(bytes)
        var offset = way.cutter.offset
        do throws(Fault) {
            while let cut = try way.cutter.next() {
                offset = cut.offset
                do throws(Fault) { try handle(cut, on: index, way) } catch { throw error.of(cut.header) }
                offset = way.cutter.offset
            }
            try checkPending(index, way)
        } catch {
            emit(.fault(place(index, offset), way.cutter.fail(error)))
        }
    }

    /// The way's stream has ended in order.
    func finish(_ index: Int, time: UInt64? = nil) {
        self.time = time ?? self.time
        guard let way = ways[index] else { return }
        do throws(Fault) { try way.cutter.finish() } catch {
            emit(.fault(place(index, way.cutter.offset), error))
        }
    }

    /// The way's stream was cut off, or the capture was: what is there of a frame is nobody's mistake.
    func abandon(_ index: Int, _ reason: String) {
        guard let way = ways[index], way.cutter.fault == nil, way.cutter.bufferedByteCount > 0 else { return }
        let there = way.cutter.bufferedByteCount
        note(index, "\(reason) inside a frame, of which \(there) bytes were there")
    }

    private func way(_ index: Int, hasBeginning: Bool) -> Way {
        if let way = ways[index] { return way }
        let limit = phase == .handshake ? Limits.maxHandshakeBodyByteCount : assumptions.bodyByteCount
        let way = Way(FrameCutter(maxBodyByteCount: limit), hasBeginning: hasBeginning)
        ways[index] = way
        return way
    }

    private func place(_ index: Int, _ offset: Int) -> Place {
        Place(connection: number, sender: sender(of: index), offset: offset, time: time)
    }

    /// That a client's first frame is none is known from its header.
    private func checkPending(_ index: Int, _ way: Way) throws(Fault) {
        guard let header = way.cutter.pendingHeader, way.cutter.frameCount == 0, sender(of: index) == .client else {
            return
        }
        do throws(Fault) { try checkFirst(header, way) } catch { throw error.of(header) }
    }

    private func checkFirst(_ header: FrameHeader, _ way: Way) throws(Fault) {
        if phase == .handshake, way.hasBeginning, header.type != .hello {
            throw Fault(.expectedHello, "\(header.type) before hello")
        }
    }

    // MARK: one frame

    private func handle(_ cut: FrameCutter.Cut, on index: Int, _ way: Way) throws(Fault) {
        let header = cut.header
        recognize(header, on: index)
        let sender = sender(of: index)
        let key = sender ?? (index == 0 ? .client : .server)
        try checkCompression(header, key)
        if sender == .client, way.cutter.frameCount == 1 { try checkFirst(header, way) }
        try checkPhase(header, sender)
        var frame = DecodedFrame(
            place: place(index, cut.offset), header: header, body: cut.body, content: .unknown)
        let isKnown = try checkRule(header, sender)
        if header.compression == .zlib, isKnown {
            frame.body = try inflate(cut.body, limit: way.cutter.maxBodyByteCount)
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
        emit(.frame(frame))
        if case .frame(let value) = frame.content { follow(value) }
    }

    /// The first frames tell who is who.
    private func recognize(_ header: FrameHeader, on index: Int) {
        if clientWay == nil {
            if header.type == .hello { clientWay = index }
            if Self.serverTypes.contains(header.type) { clientWay = 1 - index }
        }
        guard phase == .unknown else { return }
        switch header.type {
        case .hello, .reject:
            phase = .handshake
            allowsZlib = false
            for way in ways { way?.cutter.maxBodyByteCount = Limits.maxHandshakeBodyByteCount }
        case .welcome, .goaway: break
        default: phase = .established
        }
    }

    private func begin() -> LinkHistory {
        let history = LinkHistory(phase == .handshake ? .link : assumptions.beginning, budget: links.budget)
        self.history = history
        return history
    }

    private func checkCompression(_ header: FrameHeader, _ sender: Sender) throws(Fault) {
        guard header.compression != .none else { return }
        if header.type.rule?.isHandshake == true { throw Fault(.compressionNotAllowed, "a compressed \(header.type)") }
        let isResuming = phase == .handshake && sender == .client && resumesWithZlib
        if !allowsZlib, !isResuming { throw Fault(.compressionNotAllowed, "compression was not agreed upon") }
    }

    /// What may be sent before and after welcome (Specs/wire.md §5).
    private func checkPhase(_ header: FrameHeader, _ sender: Sender?) throws(Fault) {
        guard let sender else { return }
        switch (sender, phase) {
        case (_, .unknown), (.client, .handshake): break
        case (.client, .established):
            if header.type == .hello { throw Fault(.protocolViolation, "hello after welcome") }
        case (.server, .handshake):
            if !Self.beforeWelcome.contains(header.type) {
                throw Fault(.protocolViolation, "\(header.type) before welcome")
            }
        case (.server, .established):
            if header.type == .welcome || header.type == .reject {
                throw Fault(.protocolViolation, "\(header.type) after welcome")
            }
        }
    }

    /// Whether the type is known; throws what its header must not be (Specs/wire.md §13.1).
    private func checkRule(_ header: FrameHeader, _ sender: Sender?) throws(Fault) -> Bool {
        guard let rule = header.type.rule else {
            if header.type.isCritical { throw Fault(.unknownCriticalFrame(header.type)) }
            return false
        }
        guard rule.allows(header) else {
            throw Fault(.protocolViolation, "\(header.type) with a flag, a sequence or a session that it must not have")
        }
        if let sender,
            header.type == .hello && sender == .server
                || Self.serverTypes.contains(header.type) && sender == .client
        {
            throw Fault(.protocolViolation, "\(header.type) from a \(sender.rawValue)")
        }
        if header.type == .open, let sender, (header.session.rawValue % 2 == 1) != (sender == .client) {
            throw Fault(.protocolViolation, "a \(sender.rawValue) opens session \(header.session)")
        }
        return true
    }

    private func inflate(_ body: [UInt8], limit: Int) throws(Fault) -> [UInt8] {
        do throws(WireError) { return try inflater.inflate(body.rawBytes, limit: limit) } catch { throw Fault(error) }
    }

    /// Whether the frame is a whole message, of which it may be the last part.
    private func join(
        _ frame: inout DecodedFrame, isKnown: Bool, _ history: LinkHistory, _ sender: Sender
    ) throws(Fault) -> Bool {
        var header = frame.header
        if frame.isRepeated {
            guard isKnown, header.flags.contains(.moreFragments) else { return true }
            frame.content = .fragment(nil)
            return false
        }
        // An unknown type's flags mean nothing, but it may stand where it must not.
        if !isKnown { header.flags.remove(.moreFragments) }
        let limit = Self.creditedTypes.contains(header.type) ? maxMessageByteCount : Self.maxUncreditedByteCount
        do throws(Fault) {
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

    /// The value of a whole body. One that is not sure to be whole may be the end of a message instead.
    private func parse(_ frame: inout DecodedFrame, _ sender: Sender?, isSure: Bool) throws(Fault) {
        let type = frame.header.type
        do throws(WireError) {
            frame.content = .frame(try Frame.parse(type: type, body: frame.body.rawBytes))
        } catch {
            if !isSure, type.rule?.isCut == true { return frame.content = .fragment(nil) }
            try refuse(&frame, Fault(error), error)
        }
        if case .frame(.message(let message)) = frame.content, let sender, (message.relay == nil) != (sender == .client)
        {
            let text = sender == .client ? "the relay's fields from a client" : "the relay's fields are missing"
            frame.content = .refused(Fault(.invalidValue, text))
        }
    }

    /// A wrong field of a message or a request is refused alone, if it can be named (Specs/wire.md §12).
    private func refuse(_ frame: inout DecodedFrame, _ fault: Fault, _ error: WireError) throws(Fault) {
        guard error.scope == .frame else { throw fault }
        switch frame.header.type {
        case .data: frame.content = .refused(fault)
        case .request where Request.correlation(in: frame.body.rawBytes) != nil: frame.content = .refused(fault)
        case .hello: throw Fault(.invalidHello, fault.text)
        default: throw fault
        }
    }

    // MARK: what a frame means for those that follow

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
            for way in ways { way?.cutter.maxBodyByteCount = welcome.limits.maxBodyByteCount }
            let features = welcome.features.available(in: welcome.version)
            if features.contains(.compact) {
                for way in ways { way?.cutter.allowPackets(deflated: features.contains(.sharedDeflate)) }
            }
            if let history { links.remember(history, as: welcome.link) }
        case .reject:
            history = nil
        default: break
        }
    }
}
