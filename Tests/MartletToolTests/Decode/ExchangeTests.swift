import MartletWire
import Testing

@testable import MartletTool

/// What the vectors do not have: both ways together, and captures that begin in the middle.
@Suite struct ExchangeTests {
    private let heard = Heard()

    private func exchange(_ phase: Exchange.Phase = .handshake, links: LinkTable = LinkTable()) -> Exchange {
        let exchange = Exchange(in: phase, links: links, heard.hear)
        exchange.setClient(0)
        return exchange
    }

    private func greet(_ exchange: Exchange, resumed: Bool = false, features: Features = .supported) {
        exchange.receive(frame(Handshake.hello(resuming: resumed)), on: 0)
        exchange.receive(frame(Handshake.welcome(resumed: resumed, features: features)), on: 1)
    }

    /// Two fragments of one text.
    private func fragments(sequence: UInt32) -> [[UInt8]] {
        let body = text(String(repeating: "long ", count: 20)).encode()
        return [
            frame(text("-"), session: 1, sequence: sequence, more: true, body: Array(body[..<30])),
            frame(text("-"), session: 1, sequence: sequence + 1, body: Array(body[30...])),
        ]
    }

    @Test func `the frames tell who is who, and a session its room`() {
        let exchange = Exchange { heard.hear($0) }
        exchange.receive(frame(Handshake.welcome()), on: 0)
        exchange.receive(frame(Handshake.open("den"), session: 1, sequence: 1), on: 1)
        exchange.receive(frame(text("hello"), session: 1, sequence: 2), on: 1)
        #expect(heard.frames.map(\.place.sender) == [.server, .client, .client])
        #expect(heard.frames.map(\.room) == [nil, "den", "den"])
        #expect(heard.frames.map(\.sequence) == [nil, 1, 2])
    }

    @Test func `welcome changes the limits for both ways`() {
        let exchange = exchange()
        let long = text(String(repeating: "x", count: 20_000))
        greet(exchange)
        exchange.receive(frame(long, session: 1, sequence: 1), on: 0)
        #expect(heard.faults == [])
        exchange.receive(frame(.ping(Ping(nonce: 1)), body: [UInt8](repeating: 0, count: 65_537)), on: 1)
        #expect(heard.faults.count == 1)
        #expect(heard.faults[0].hasPrefix("frameTooLarge"))
    }

    @Test func `compression is for those who agreed upon it, and for what resumes a link`() {
        let long = text(String(repeating: "x", count: 200))
        let compressed = frame(long, session: 1, sequence: 1, compressed: true)
        let agreed = exchange()
        greet(agreed)
        agreed.receive(compressed, on: 0)
        #expect(heard.faults == [])
        #expect(heard.frames.last?.body == long.encode())
        let resuming = exchange()
        resuming.receive(frame(Handshake.hello(resuming: true)) + compressed, on: 0)
        #expect(heard.faults == [])
        let early = exchange()
        early.receive(frame(Handshake.hello()) + compressed, on: 0)
        let refused = exchange()
        greet(refused, features: [])
        refused.receive(compressed, on: 0)
        #expect(heard.faults.map { $0.prefix(21) } == ["compressionNotAllowed", "compressionNotAllowed"])
    }

    @Test func `fragments are joined, over two connections of a link, too`() {
        let links = LinkTable()
        let first = exchange(links: links)
        greet(first)
        let parts = fragments(sequence: 2)
        first.receive(frame(Handshake.open("den"), session: 1, sequence: 1) + parts[0], on: 0)
        let second = exchange(links: links)
        greet(second, resumed: true)
        second.receive(parts[0] + parts[1], on: 0)
        #expect(heard.faults == [])
        let frames = heard.frames.filter { $0.header.type == .data }
        #expect(frames.map(\.content)[..<2] == [.fragment(1), .fragment(nil)])
        #expect(frames.map(\.isRepeated) == [false, true, false])
        #expect(frames[2].fragmentCount == 2)
        #expect(frames[2].room == "den")
        #expect(frames[2].content == .frame(text(String(repeating: "long ", count: 20))))
    }

    @Test func `after a refused resume what was sent behind the hello means nothing`() {
        let links = LinkTable()
        let exchange = exchange(links: links)
        exchange.receive(frame(Handshake.hello(resuming: true)), on: 0)
        exchange.receive(frame(text("lost"), session: 1, sequence: 90), on: 0)
        exchange.receive(frame(.reject(Reject(Notice(code: .resumeRejected)))), on: 1)
        greet(exchange)
        exchange.receive(frame(Handshake.open(), session: 1, sequence: 1), on: 0)
        #expect(heard.faults == [])
        #expect(heard.frames.last?.sequence == 1)
        #expect(heard.frames.last?.isRepeated == false)
        #expect(links[Handshake.link]?.beginning == .link)
    }

    @Test func `the end of a message that began before the capture is no fault`() {
        let exchange = exchange(.unknown)
        exchange.receive(fragments(sequence: 7)[1], on: 0, hasBeginning: false)
        exchange.receive(frame(text("whole"), session: 1, sequence: 9), on: 0, hasBeginning: false)
        #expect(heard.faults == [])
        #expect(heard.frames.map(\.content) == [.fragment(nil), .frame(text("whole"))])
        exchange.receive(frame(text("-"), session: 1, sequence: 10, body: [1, 2, 3]), on: 0)
        #expect(heard.faults.count == 1)
    }

    @Test func `one way's fault leaves the other alone`() {
        let exchange = exchange()
        greet(exchange)
        exchange.receive([0x8D, 1], on: 0)
        exchange.receive(frame(.ping(Ping(nonce: 1))), on: 0)
        exchange.receive(frame(.ping(Ping(nonce: 2))), on: 1)
        #expect(heard.faults.count == 1)
        #expect(heard.frames.last?.content == .frame(.ping(Ping(nonce: 2))))
        #expect(heard.frames.count == 3)
    }

    @Test func `a message that is too long is refused alone`() {
        let heard = Heard()
        var assumptions = Exchange.Assumptions()
        assumptions.messageByteCount = 40
        let exchange = Exchange(in: .established, assuming: assumptions, heard.hear)
        exchange.setClient(0)
        let parts = fragments(sequence: 1)
        exchange.receive(parts[0] + parts[1] + frame(text("short"), session: 1, sequence: 3), on: 0)
        #expect(heard.faults == [])
        guard case .refused(let fault) = heard.frames[1].content else { return #expect(Bool(false)) }
        #expect(fault.code == .messageTooLarge)
        #expect(heard.frames[2].content == .frame(text("short")))
    }

    @Test func `ends in order are ends, and cuts are told`() {
        let exchange = exchange(.established)
        let ping = frame(.ping(Ping(nonce: 1)))
        exchange.receive(ping + ping.prefix(30), on: 0)
        exchange.abandon(0, "the connection was cut")
        exchange.receive(ping, on: 1)
        exchange.abandon(1, "the connection was cut")
        #expect(heard.notes == ["the connection was cut inside a frame, of which 30 bytes were there"])
        #expect(heard.faults == [])
        exchange.finish(1)
        exchange.finish(0)
        #expect(heard.faults == ["unexpectedEOF at \(ping.count)"])
    }
}
