import MartletToolSupport
import MartletToolTestSupport
import MartletWire
import Testing

@testable import MartletDecode
@testable import MartletTool

@Suite struct DecodeTextTests {
    private func decoded(_ value: Frame, session: UInt16 = 1, sequence: UInt64? = nil, time: UInt64? = nil)
        -> DecodedFrame
    {
        let header = FrameHeader(
            type: value.type, flags: [.reliable, .checksummed], session: SessionID(rawValue: session), checksum: 0xAB)
        return DecodedFrame(
            position: StreamPosition(connection: 2, sender: .client, offset: 77, time: time), header: header,
            body: value.encode(),
            content: .frame(value), sequence: sequence)
    }

    @Test func `a frame is shown as one line`() {
        var text = DecodeText()
        var frame = decoded(MartletToolTestSupport.text("hello"), sequence: 5)
        frame.room = "den"
        #expect(
            text.lines(.frame(frame)) == ["        @77   2 > 1/5      data      counter 1, \"hello\" (den)"])
        frame.isRepeated = true
        frame.fragmentCount = 3
        frame.missingCount = 2
        frame.header.compression = .zlib
        frame.header.flags.insert(.ackNow)
        #expect(
            text.lines(.frame(frame))[0].hasSuffix(
                "(den) [joined from 3 fragments] [again] [2 sequences before it not seen] [zlib] [ackNow]"))
    }

    @Test func `times are relative to the first event and may decrease`() {
        var text = DecodeText()
        let lines = [5_000_000_000, 6_234_567_890, 4_999_999_000].flatMap { time in
            text.lines(.frame(decoded(.suspend(Suspend()), time: time)))
        }
        #expect(lines.map { $0.prefix(11) } == ["   0.000000", "   1.234567", "  -0.000001"])
    }

    @Test func `fragments, unknown frames and refused frames are shown as such`() {
        var text = DecodeText()
        var frame = decoded(.suspend(Suspend()))
        frame.body = [1, 2]
        let contents: [(DecodedFrame.Content, String)] = [
            (.fragment(4), "fragment 4, 2 bytes"), (.fragment(nil), "fragment, 2 bytes"),
            (.unknown, "unknown, 2 bytes, skipped"),
            (.refused(DecodeFault(.invalidValue, "why")), "*** refused: invalidValue, why"),
        ]
        for (content, end) in contents {
            frame.content = content
            #expect(text.lines(.frame(frame))[0].hasSuffix(end))
        }
    }

    @Test func `the verbose option shows every field of a frame`() {
        var text = DecodeText(isVerbose: true)
        let lines = text.lines(.frame(decoded(Handshake.hello(), session: 0)))
        let margin = String(repeating: " ", count: 28)
        #expect(
            lines[1]
                == margin
                + "version 1.0, reliable checksummed, priority urgent, timestamp 0, body 0, checksum 0x000000AB")
        #expect(lines.contains(margin + "0x0013 credential: 11 bytes, not shown"))
        var open = DecodeText(isVerbose: true, showsSecrets: true)
        #expect(
            open.lines(.frame(decoded(Handshake.hello()))).contains(
                margin + "0x0013 credential: 11 bytes 6f70656e20736573616d65"))
    }

    @Test func `faults and notes are shown as lines`() {
        var text = DecodeText()
        let place = StreamPosition(connection: 1, sender: nil, offset: 9)
        #expect(
            text.lines(.fault(place, DecodeFault(.badMagic, "what"))) == [
                "         @9   1 ? -        -         *** badMagic (0x0101) in the frame at byte 9: what; the rest of "
                    + "this direction is not read"
            ])
        #expect(text.lines(.note(place, "so")) == ["         @9   1 ? -        -         --- so"])
    }

    @Test func `every frame type has a summary in one line`() {
        for type in FrameType.registered {
            #expect(type == .suspend || !Self.example(type).summary.isEmpty)
            #expect(!Self.example(type).summary.contains("\n"))
        }
    }

    private static func example(_ type: FrameType) -> Frame {
        let ada = AccountName("ada")
        let echo = Echo(timestamp: 1, delay: .zero)
        return switch type {
        case .data: text("a\nb")
        case .transient: .transient(Transient(.typing(true), sender: ada))
        case .ack: .ack(Ack(linkCredit: 1, sessions: []))
        case .receipt: .receipt(.progress(.init(.read, upTo: 1)))
        case .accepted: .accepted(Accepted(runs: [AcceptedRun(firstCounter: 1, count: 1, firstOffset: 0)]))
        case .gap: .gap(Gap(offsets: 1...2))
        case .ping: .ping(Ping(nonce: 1))
        case .pong: .pong(Pong(nonce: 1, echo: echo))
        case .hello: Handshake.hello(resuming: true)
        case .welcome: Handshake.welcome(resumed: true)
        case .reject: .reject(Reject(Notice(code: .redirected, redirect: "there")))
        case .goaway: .goAway(GoAway(Notice(code: .none)))
        case .open: Handshake.open()
        case .opened: .opened(Opened(head: 1, first: 1, members: Array(repeating: ada, count: 9)))
        case .close: .close(Close(code: .closedByPeer))
        case .reset: .reset(Reset(session: SessionID(rawValue: 1), code: .roomFull))
        case .suspend: .suspend(Suspend())
        case .resume: .resume(Resume(cursor: 1))
        case .request: .request(Request(correlation: 1, method: MethodName("roll")!, deadline: .seconds(1)))
        case .response: .response(Response(correlation: 1))
        default: .cancelRequest(CancelRequest(correlation: 1))
        }
    }
}
