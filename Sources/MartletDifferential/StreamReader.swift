import MartletWire

/// Who sends a stream.
enum Side: String, Decodable {
    case client, server
}

/// One direction of a connection, read frame by frame as the specification has it, without a link: the framer, the
/// rules of types, compression, fragments as they come, and bodies.
///
/// States: *handshake*, in which a client's first frame is hello and a server sends welcome, reject or goaway;
/// *established*; *failed*, which keeps the error and takes nothing more. What it comes to can be compared with another
/// implementation's.
struct StreamReader: ~Copyable {
    /// What a frame came to.
    enum Outcome: Equatable {
        /// A body's value.
        case value(Frame)
        /// A type that is not known.
        case skipped
        /// The inflated bytes of a part of a message.
        case fragment([UInt8])
        /// A fault that ends less than the connection.
        case refused(ErrorCode, ends: Scope)
    }

    /// What a fault ends, when it is less than the connection.
    enum Scope: String {
        case message, request, session
    }

    /// What ended the stream, and at which byte the frame begins that did.
    struct Failure: Equatable {
        var code: ErrorCode
        var offset: Int
    }

    private var framer: Framer
    private var taker: FrameTaker
    private var offset = 0
    /// What ended the stream, if anything did.
    private(set) var failure: Failure?
    /// The frames so far, each with its header.
    private(set) var frames: [(header: FrameHeader, outcome: Outcome)] = []

    /// A reader at the start of what `sender` sends: of its first bytes, or of those after welcome with what that
    /// negotiated.
    init(from sender: Side, established: (maxBodyByteCount: Int, zlib: Bool)? = nil) {
        framer = Framer(maxBodyByteCount: established?.maxBodyByteCount ?? Limits.maxHandshakeBodyByteCount)
        taker = FrameTaker(sender: sender, established: established)
    }

    /// Takes bytes of the stream.
    mutating func consume(_ bytes: RawSpan) {
        var rest = bytes
        while failure == nil, rest.byteCount > 0 {
            rest = rest.extracting(droppingFirst: step(rest))
            framer.maxBodyByteCount = taker.maxBodyByteCount
        }
        if failure == nil, taker.awaitsHello, let header = framer.pendingHeader, header.type != .hello {
            failure = Failure(code: .expectedHello, offset: offset)
        }
    }

    /// The stream has ended.
    mutating func finish() {
        guard failure == nil else { return }
        do throws(WireError) { try framer.finish() } catch { failure = Failure(code: error.code, offset: offset) }
    }

    /// Takes as many frames as the framer hands out in one go.
    private mutating func step(_ bytes: RawSpan) -> Int {
        do throws(WireError) {
            return try Self.step(bytes, &framer, &taker, &offset, &frames, &failure)
        } catch {
            failure = failure ?? Failure(code: error.code, offset: offset)
            return bytes.byteCount
        }
    }

    private static func step(
        _ bytes: RawSpan, _ framer: inout Framer, _ taker: inout FrameTaker, _ offset: inout Int,
        _ frames: inout [(header: FrameHeader, outcome: Outcome)], _ failure: inout Failure?
    ) throws(WireError) -> Int {
        try framer.consume(bytes) { header, body throws(WireError) in
            do throws(Fault) {
                frames.append((header, try taker.take(header, body)))
            } catch {
                failure = Failure(code: error.code, offset: offset)
                return .stop
            }
            offset += FrameHeader.byteCount + body.byteCount
            // Welcome changes the bounds of what follows.
            return header.type == .welcome ? .stop : .proceed
        }
    }
}

/// A fault that ends the connection.
struct Fault: Error {
    var code: ErrorCode
}

/// The rules of a connection's frames, behind the framer.
struct FrameTaker: ~Copyable {
    private static let serverOnly: Set<FrameType> = [.accepted, .gap, .welcome, .reject]

    private let sender: Side
    private var isEstablished: Bool
    private var isZlibAllowed: Bool
    private var inflater = Inflater()
    private var begun: [SessionID: FrameType] = [:]
    /// Whether the first frame has not come and must be hello.
    private(set) var awaitsHello: Bool
    private(set) var maxBodyByteCount: Int

    init(sender: Side, established: (maxBodyByteCount: Int, zlib: Bool)?) {
        self.sender = sender
        isEstablished = established != nil
        isZlibAllowed = established?.zlib ?? false
        maxBodyByteCount = established?.maxBodyByteCount ?? Limits.maxHandshakeBodyByteCount
        awaitsHello = sender == .client && established == nil
    }

    /// What a frame comes to (Specs/wire.md W-8).
    mutating func take(_ header: FrameHeader, _ body: RawSpan) throws(Fault) -> StreamReader.Outcome {
        let type = header.type
        if awaitsHello, type != .hello { throw Fault(code: .expectedHello) }
        awaitsHello = false
        if header.compression != .none, !isZlibAllowed || type.rule?.isHandshake == true {
            throw Fault(code: .compressionNotAllowed)
        }
        guard isDue(type), isInPlace(header) else { throw Fault(code: .protocolViolation) }
        if type.rule == nil, type.isCritical { throw Fault(code: .unknownCritical) }
        let isPart = try isPart(header)
        guard type.rule != nil else { return .skipped }
        guard header.compression != .none else { return try parse(type, body, isPart: isPart) }
        let plain: [UInt8]
        do throws(WireError) { plain = try inflater.inflate(body, limit: maxBodyByteCount) } catch {
            throw Fault(code: error.code)
        }
        return try parse(type, plain.rawBytes, isPart: isPart)
    }

    /// Whether the type may be sent now.
    private func isDue(_ type: FrameType) -> Bool {
        switch sender {
        case .client: type != .hello || !isEstablished
        case .server: isEstablished ? type != .welcome && type != .reject : [.welcome, .reject, .goaway].contains(type)
        }
    }

    /// Whether the type may be sent so, and by this side.
    private func isInPlace(_ header: FrameHeader) -> Bool {
        guard let rule = header.type.rule else { return true }
        if sender == .client ? Self.serverOnly.contains(header.type) : header.type == .hello { return false }
        if header.type == .open, (header.session.rawValue % 2 == 1) != (sender == .client) { return false }
        return rule.allows(header)
    }

    /// Whether the frame is a part of a message, and of the one that was begun.
    private mutating func isPart(_ header: FrameHeader) throws(Fault) -> Bool {
        guard header.flags.contains(.reliable) else { return false }
        let type = begun.removeValue(forKey: header.session)
        if let type, type != header.type { throw Fault(code: .protocolViolation) }
        if header.flags.contains(.moreFragments), header.type.rule != nil { begun[header.session] = header.type }
        return type != nil || header.flags.contains(.moreFragments)
    }

    private mutating func parse(
        _ type: FrameType, _ body: RawSpan, isPart: Bool
    ) throws(Fault) -> StreamReader.Outcome {
        if isPart { return .fragment([UInt8](copying: body)) }
        do throws(WireError) {
            let frame = try Frame.parse(type: type, body: body)
            if case .message(let message) = frame, (message.relay == nil) != (sender == .client) {
                throw .invalidValue(.offset)
            }
            if case .welcome(let welcome) = frame { establish(welcome) }
            return .value(frame)
        } catch {
            guard error.scope == .frame else { throw Fault(code: error.code) }
            switch type {
            case .hello: throw Fault(code: .invalidHello)
            // A client takes what a relay has accepted for a gap and never resets the session.
            case .data where sender == .client && MessageView.counter(in: body) == nil:
                return .refused(error.code, ends: .session)
            case .data: return .refused(error.code, ends: .message)
            case .request where Request.correlation(in: body) != nil: return .refused(error.code, ends: .request)
            default: throw Fault(code: error.code)
            }
        }
    }

    private mutating func establish(_ welcome: Welcome) {
        isEstablished = true
        isZlibAllowed = welcome.features.contains(.zlib)
        maxBodyByteCount = welcome.limits.maxBodyByteCount
    }
}
