package import MartletDecode
package import MartletWire

/// Returns an encoded frame with the flags of its type.
package func frame(
    _ frame: Frame, session: UInt16 = 0, sequence: UInt32 = 0, more: Bool = false, body: [UInt8]? = nil,
    compressed: Bool = false
) -> [UInt8] {
    var flags: FrameFlags = []
    if frame.type.rule?.isReliable == true { flags.insert(.reliable) }
    if more { flags.insert(.moreFragments) }
    let plain = body ?? frame.encode()
    let deflater = Deflater()
    let sent = compressed ? deflater.compress(plain.rawBytes)! : plain
    let header = FrameHeader(
        type: frame.type, sequence: sequence, flags: flags, compression: compressed ? .zlib : .none,
        session: SessionID(rawValue: session))
    return header.frame(body: sent.rawBytes)
}

/// A text message of a client.
package func text(_ text: String, counter: UInt64 = 1) -> Frame {
    .message(Message(counter: counter, kind: .text, content: Message.textContent(text)))
}

/// A hello, and the welcome that answers it.
package enum Handshake {
    package static let link = LinkID(rawValue: 9)
    private static let token = ResumeToken(1, 2, 3, 4)

    package static func hello(resuming isResuming: Bool = false) -> Frame {
        .hello(
            Hello(
                features: .supported, limits: Limits(), device: DeviceID(rawValue: 7), account: AccountName("ada"),
                credential: Credential("open sesame"),
                resume: isResuming ? ResumePoint(link: link, token: token, positions: []) : nil))
    }

    package static func welcome(resumed: Bool = false, features: Features = .supported) -> Frame {
        .welcome(
            Welcome(
                version: .current, features: features, limits: Limits(), account: AccountName("ada"), link: link,
                resumeToken: token, epoch: Epoch(rawValue: resumed ? 2 : 1), resumeLifetime: .seconds(60),
                resumed: resumed ? [] : nil))
    }

    package static func open(_ room: String = "lobby") -> Frame {
        .open(Open(room: RoomName(room)!, kind: .chat, cursor: 0))
    }
}

/// Records the events of a decoder.
package final class Heard {
    package init() {}

    package private(set) var events: [DecodeEvent] = []

    package func hear(_ event: DecodeEvent) { events.append(event) }

    package var frames: [DecodedFrame] {
        events.compactMap { if case .frame(let frame) = $0 { frame } else { nil } }
    }

    /// Code and offset of each fault.
    package var faults: [String] {
        events.compactMap {
            if case .fault(let position, let fault) = $0 { "\(fault.code.name) at \(position.offset)" } else { nil }
        }
    }

    package var notes: [String] {
        events.compactMap { if case .note(_, let text) = $0 { text } else { nil } }
    }
}
