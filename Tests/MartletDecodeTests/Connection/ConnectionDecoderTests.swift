import MartletToolTestSupport
import MartletWire
import Testing

@testable import MartletDecode

/// Cases beyond the vectors: both directions together, and captures that begin inside a connection.
@Suite struct ConnectionDecoderTests {
    private let heard = Heard()

    private func decoder(_ phase: ConnectionDecoder.Phase = .handshake, links: LinkHistories = LinkHistories())
        -> ConnectionDecoder
    {
        let decoder = ConnectionDecoder(in: phase, links: links, onEvent: heard.hear)
        decoder.setClient(.first)
        return decoder
    }

    private func greet(_ decoder: ConnectionDecoder, resumed: Bool = false, features: Features = .supported) {
        decoder.receive(frame(Handshake.hello(resuming: resumed)), on: .first)
        decoder.receive(frame(Handshake.welcome(resumed: resumed, features: features)), on: .second)
    }

    /// Two fragments of one text.
    private func fragments(sequence: UInt32) -> [[UInt8]] {
        let body = text(String(repeating: "long ", count: 20)).encode()
        return [
            frame(text("-"), session: 1, sequence: sequence, more: true, body: Array(body[..<30])),
            frame(text("-"), session: 1, sequence: sequence + 1, body: Array(body[30...])),
        ]
    }

    @Test func `a welcome determines the server, and an open the room of its session`() {
        let decoder = ConnectionDecoder { heard.hear($0) }
        decoder.receive(frame(Handshake.welcome()), on: .first)
        decoder.receive(frame(Handshake.open("den"), session: 1, sequence: 1), on: .second)
        decoder.receive(frame(text("hello"), session: 1, sequence: 2), on: .second)
        #expect(heard.frames.map(\.position.sender) == [.server, .client, .client])
        #expect(heard.frames.map(\.room) == [nil, "den", "den"])
        #expect(heard.frames.map(\.sequence) == [nil, 1, 2])
    }

    // W-97
    @Test func `auth stands before and after welcome, and not before hello`() {
        let decoder = decoder()
        let auth = frame(.auth(Auth(credential: Credential("message"))))
        decoder.receive(frame(Handshake.hello()) + auth, on: .first)
        decoder.receive(auth + frame(Handshake.welcome()) + auth, on: .second)
        decoder.receive(auth, on: .first)
        #expect(heard.frames.map(\.header.type) == [.hello, .auth, .auth, .welcome, .auth, .auth])
        #expect(heard.faults == [])
        let first = ConnectionDecoder(in: .handshake, onEvent: heard.hear)
        first.setClient(.first)
        first.receive(auth, on: .first)
        #expect(heard.faults == ["expectedHello at 0"])
    }

    @Test func `a welcome changes the limits of both directions`() {
        let decoder = decoder()
        let long = text(String(repeating: "x", count: 20_000))
        greet(decoder)
        decoder.receive(frame(long, session: 1, sequence: 1), on: .first)
        #expect(heard.faults == [])
        decoder.receive(frame(.ping(Ping(nonce: 1)), body: [UInt8](repeating: 0, count: 65_537)), on: .second)
        #expect(heard.faults.count == 1)
        #expect(heard.faults[0].hasPrefix("frameTooLarge"))
    }

    @Test func `a compressed frame → accepted if negotiated or behind a resume, else compressionNotAllowed`() {
        let long = text(String(repeating: "x", count: 200))
        let compressed = frame(long, session: 1, sequence: 1, compressed: true)
        let agreed = decoder()
        greet(agreed)
        agreed.receive(compressed, on: .first)
        #expect(heard.faults == [])
        #expect(heard.frames.last?.body == long.encode())
        let resuming = decoder()
        resuming.receive(frame(Handshake.hello(resuming: true)) + compressed, on: .first)
        #expect(heard.faults == [])
        let early = decoder()
        early.receive(frame(Handshake.hello()) + compressed, on: .first)
        let refused = decoder()
        greet(refused, features: [])
        refused.receive(compressed, on: .first)
        #expect(heard.faults.map { $0.prefix(21) } == ["compressionNotAllowed", "compressionNotAllowed"])
    }

    @Test func `fragments on two connections of a link are joined`() {
        let links = LinkHistories()
        let first = decoder(links: links)
        greet(first)
        let parts = fragments(sequence: 2)
        first.receive(frame(Handshake.open("den"), session: 1, sequence: 1) + parts[0], on: .first)
        let second = decoder(links: links)
        greet(second, resumed: true)
        second.receive(parts[0] + parts[1], on: .first)
        #expect(heard.faults == [])
        let frames = heard.frames.filter { $0.header.type == .data }
        #expect(frames.map(\.content)[..<2] == [.fragment(1), .fragment(nil)])
        #expect(frames.map(\.isRepeated) == [false, true, false])
        #expect(frames[2].fragmentCount == 2)
        #expect(frames[2].room == "den")
        #expect(frames[2].content == .frame(text(String(repeating: "long ", count: 20))))
    }

    @Test func `early frames of a refused resume do not count on the new link`() {
        let links = LinkHistories()
        let decoder = decoder(links: links)
        decoder.receive(frame(Handshake.hello(resuming: true)), on: .first)
        decoder.receive(frame(text("lost"), session: 1, sequence: 90), on: .first)
        decoder.receive(frame(.reject(Reject(Notice(code: .resumeRejected)))), on: .second)
        greet(decoder)
        decoder.receive(frame(Handshake.open(), session: 1, sequence: 1), on: .first)
        #expect(heard.faults == [])
        #expect(heard.frames.last?.sequence == 1)
        #expect(heard.frames.last?.isRepeated == false)
        #expect(links[Handshake.link]?.beginning == .link)
    }

    @Test func `the last fragment of a message from before the capture is no fault`() {
        let decoder = decoder(.unknown)
        decoder.receive(fragments(sequence: 7)[1], on: .first, hasBeginning: false)
        decoder.receive(frame(text("whole"), session: 1, sequence: 9), on: .first, hasBeginning: false)
        #expect(heard.faults == [])
        #expect(heard.frames.map(\.content) == [.fragment(nil), .frame(text("whole"))])
        decoder.receive(frame(text("-"), session: 1, sequence: 10, body: [1, 2, 3]), on: .first)
        #expect(heard.faults.count == 1)
    }

    @Test func `a fault of one direction does not affect the other`() {
        let decoder = decoder()
        greet(decoder)
        decoder.receive([0x8D, 1], on: .first)
        decoder.receive(frame(.ping(Ping(nonce: 1))), on: .first)
        decoder.receive(frame(.ping(Ping(nonce: 2))), on: .second)
        #expect(heard.faults.count == 1)
        #expect(heard.frames.last?.content == .frame(.ping(Ping(nonce: 2))))
        #expect(heard.frames.count == 3)
    }

    @Test func `a message beyond the limit is refused, and the next one is decoded`() {
        let heard = Heard()
        var assumptions = ConnectionDecoder.Assumptions()
        assumptions.messageByteCount = 40
        let decoder = ConnectionDecoder(in: .established, assuming: assumptions, onEvent: heard.hear)
        decoder.setClient(.first)
        let parts = fragments(sequence: 1)
        decoder.receive(parts[0] + parts[1] + frame(text("short"), session: 1, sequence: 3), on: .first)
        #expect(heard.faults == [])
        guard case .refused(let fault) = heard.frames[1].content else { return #expect(Bool(false)) }
        #expect(fault.code == .messageTooLarge)
        #expect(heard.frames[2].content == .frame(text("short")))
    }

    @Test func `a cut inside a frame → a note, an end inside a frame → unexpectedEOF`() {
        let decoder = decoder(.established)
        let ping = frame(.ping(Ping(nonce: 1)))
        decoder.receive(ping + ping.prefix(30), on: .first)
        decoder.abandon(.first, "the connection was cut")
        decoder.receive(ping, on: .second)
        decoder.abandon(.second, "the connection was cut")
        #expect(heard.notes == ["the connection was cut inside a frame, of which 30 bytes are present"])
        #expect(heard.faults == [])
        decoder.finish(.second)
        decoder.finish(.first)
        #expect(heard.faults == ["unexpectedEOF at \(ping.count)"])
    }

    // W-61
    @Test func `a server's message without the relay's fields → valid as a command only`() {
        let decoder = decoder(.established)
        var content = TLVWriter()
        content.append(.data, bytes: [1, 2])
        let command = Frame.message(Message(counter: 1, kind: .command, content: content.bytes))
        decoder.receive(frame(command, session: 1, sequence: 1), on: .second)
        decoder.receive(frame(text("a"), session: 1, sequence: 2), on: .second)
        #expect(heard.frames.first?.content == .frame(command))
        guard case .refused(let fault) = heard.frames.last?.content else { return #expect(Bool(false)) }
        #expect(fault.code == .invalidValue)
    }
}
