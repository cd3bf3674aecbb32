import MartletWire

@testable import MartletLink

/// A sent frame and its time.
struct SeenFrame {
    var at: Instant
    var header: FrameHeader
    var body: [UInt8]

    var type: FrameType { header.type }

    /// The parsed body; nil for another type or an invalid body.
    func parsed<Body: FrameBody>(_: Body.Type = Body.self) -> Body? {
        guard header.type == Body.type, !header.flags.contains(.moreFragments) else { return nil }
        return try? Body(parsing: body.rawBytes)
    }
}

/// Records the frames of a stream of bytes.
final class FrameLog {
    private var framer = Framer(maxBodyByteCount: FrameHeader.largestBodyByteCount)
    private(set) var frames: [SeenFrame] = []
    private(set) var byteCount = 0

    /// Accepts packets from now on.
    func allowPackets() {
        if !framer.allowsPackets { framer.allowPackets(deflated: true) }
    }

    func take(_ bytes: [UInt8], at now: Instant) throws {
        byteCount += bytes.count
        var taken = 0
        repeat {
            var readsPackets = false
            taken += try framer.consume(bytes.rawBytes.extracting(droppingFirst: taken)) { header, body in
                let frame = SeenFrame(at: now, header: header, body: [UInt8](copying: body))
                frames.append(frame)
                // Packets may follow directly behind the welcome that negotiates them (W-76).
                let welcome: Welcome? = frame.parsed()
                readsPackets = welcome?.features.contains(.compact) == true
                return readsPackets ? .stop : .proceed
            }
            if readsPackets { allowPackets() }
        } while taken < bytes.count || framer.hasWaitingFrames
    }

    func all<Body: FrameBody>(_: Body.Type) -> [Body] {
        frames.compactMap { $0.parsed() }
    }

    func last<Body: FrameBody>(_: Body.Type) -> Body? {
        all(Body.self).last
    }
}

/// Makes frames with the sequences of a correct peer.
struct FrameMaker {
    private var sequences: [SessionID: UInt32] = [:]

    /// A frame with the flags required by its type and the given values.
    mutating func frame(
        _ type: FrameType, _ body: [UInt8], on session: SessionID = .control, flags: FrameFlags = [],
        sequence: UInt32? = nil, compression: Compression = .none
    ) -> [UInt8] {
        var header = FrameHeader(type: type, flags: flags, compression: compression, session: session)
        if type.rule?.isReliable == true || flags.contains(.reliable) {
            header.flags.insert(.reliable)
            let next = sequences[session, default: 0] + 1
            header.sequence = sequence ?? next
            if sequence == nil { sequences[session] = next }
        }
        return header.frame(body: body.rawBytes)
    }

    mutating func frame(_ body: some FrameBody, on session: SessionID = .control) -> [UInt8] {
        frame(type(of: body).type, body.encode(), on: session)
    }
}
