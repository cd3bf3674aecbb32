import MartletWire

@testable import MartletProtocol

/// A frame as it went over the wire, and when.
struct SeenFrame {
    var at: Instant
    var header: FrameHeader
    var body: [UInt8]

    var type: FrameType { header.type }

    /// The body, when it is of that type and whole.
    func parsed<Body: FrameBody>(_: Body.Type = Body.self) -> Body? {
        guard header.type == Body.type, !header.flags.contains(.moreFragments) else { return nil }
        return try? Body(parsing: body.rawBytes)
    }
}

/// Cuts a stream of bytes into the frames that a test looks at.
final class FrameLog {
    private var framer = Framer(maxBodyByteCount: FrameHeader.largestBodyByteCount)
    private(set) var frames: [SeenFrame] = []
    private(set) var byteCount = 0

    /// From here on packets may come.
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
                // Packets may come right behind the welcome that agrees on them (W-76).
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

/// Makes frames with the sequences that a real peer would give them.
struct FrameMaker {
    private var sequences: [SessionID: UInt32] = [:]

    /// A frame with the flags that its type has to have, but for what is given.
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

extension Framer {
    /// The framer's own way to ask an engine for what it has to send.
    static func drain(_ transmit: (inout OutputRawSpan) -> Void) -> [UInt8] {
        var all: [UInt8] = []
        while true {
            let bytes = [UInt8](capacity: 64 * 1024, transmit)
            if bytes.isEmpty { return all }
            all += bytes
        }
    }
}
