import MartletWire

/// The sender of a stream.
enum Side: String, Decodable {
    case client, server
}

/// A parser of one direction of a connection without a link: the framing, the rules of the types, decompression,
/// fragments without reassembly, and bodies.
///
/// States: *handshake*, in which the first frame of a client is hello, and a server sends auth, welcome, reject or
/// goaway; *established*; *failed*, which keeps the error and consumes no more bytes. The result can be compared with
/// that of another implementation.
struct StreamReader: ~Copyable {
    /// The result of a frame.
    enum Outcome: Equatable {
        /// The parsed body.
        case value(Frame)
        /// An unknown type.
        case skipped
        /// The inflated bytes of a fragment.
        case fragment([UInt8])
        /// A fault that does not end the connection.
        case refused(ErrorCode, ends: Scope)
    }

    /// The scope of a fault that does not end the connection.
    enum Scope: String {
        case message, request, session
    }

    /// The error that ended the stream, and the offset of its frame.
    struct Failure: Equatable {
        var code: ErrorCode
        var offset: Int
    }

    private var framer: Framer
    private var taker: FrameTaker
    private var offset = 0
    /// The error that ended the stream; nil if there is none.
    private(set) var failure: Failure?
    /// The frames so far, with their headers.
    private(set) var frames: [(header: FrameHeader, outcome: Outcome)] = []

    /// Creates a parser for the bytes of `sender`: from the start of the connection, or after a welcome that negotiated
    /// the given parameters.
    init(from sender: Side, established: (maxBodyByteCount: Int, zlib: Bool)? = nil) {
        framer = Framer(maxBodyByteCount: established?.maxBodyByteCount ?? Limits.maxHandshakeBodyByteCount)
        taker = FrameTaker(sender: sender, established: established)
    }

    /// Consumes bytes of the stream.
    mutating func consume(_ bytes: RawSpan) {
        var rest = bytes
        while failure == nil, rest.byteCount > 0 {
            framer.expectsHello = taker.awaitsHello
            rest = rest.extracting(droppingFirst: step(rest))
            framer.maxBodyByteCount = taker.maxBodyByteCount
            if let features = taker.takeFeatures(), features.contains(.compact) {
                framer.allowPackets(deflated: features.contains(.sharedDeflate))
            }
        }
    }

    /// Reports the end of the stream.
    mutating func finish() {
        guard failure == nil else { return }
        do throws(WireError) { try framer.finish() } catch { failure = Failure(code: error.code, offset: offset) }
    }

    /// Consumes frames until the framer stops, and returns the number of bytes.
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
            // Welcome changes the limits of the following frames.
            return header.type == .welcome ? .stop : .proceed
        }
    }
}

/// A fault that ends the connection.
struct Fault: Error {
    var code: ErrorCode
}

/// The rules for the frames of a connection after framing.
struct FrameTaker: ~Copyable {
    private static let beforeWelcome: Set<FrameType> = [.auth, .welcome, .reject, .goaway]
    private static let serverOnly: Set<FrameType> = [.accepted, .gap, .update, .welcome, .reject]

    private let sender: Side
    private var isEstablished: Bool
    private var isZlibAllowed: Bool
    private var inflater = Inflater()
    private var begun: [SessionID: FrameType] = [:]
    /// The features of a welcome that were not taken.
    private var features: Features?
    /// Whether the first frame is still expected and must be hello.
    private(set) var awaitsHello: Bool
    private(set) var maxBodyByteCount: Int

    init(sender: Side, established: (maxBodyByteCount: Int, zlib: Bool)?) {
        self.sender = sender
        isEstablished = established != nil
        isZlibAllowed = established?.zlib ?? false
        maxBodyByteCount = established?.maxBodyByteCount ?? Limits.maxHandshakeBodyByteCount
        awaitsHello = sender == .client && established == nil
    }

    /// Takes the features of a welcome, once; nil for none.
    mutating func takeFeatures() -> Features? { features.take() }

    /// Returns the result of a frame (Specs/wire.md W-8).
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

    /// Returns whether the type is allowed at this time.
    private func isDue(_ type: FrameType) -> Bool {
        switch sender {
        case .client: type != .hello || !isEstablished
        case .server: isEstablished ? type != .welcome && type != .reject : Self.beforeWelcome.contains(type)
        }
    }

    /// Returns whether the header and the sender are allowed for the type.
    private func isInPlace(_ header: FrameHeader) -> Bool {
        guard let rule = header.type.rule else { return true }
        if sender == .client ? Self.serverOnly.contains(header.type) : header.type == .hello { return false }
        if header.type == .open, (header.session.rawValue % 2 == 1) != (sender == .client) { return false }
        return rule.allows(header)
    }

    /// Returns whether the frame is a fragment, and verifies that it belongs to the unfinished message.
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
            // A client processes an invalid message that a relay has accepted as a gap and does not reset the session
            //
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
        features = welcome.features
        isZlibAllowed = welcome.features.contains(.zlib)
        maxBodyByteCount = welcome.limits.maxBodyByteCount
    }
}
