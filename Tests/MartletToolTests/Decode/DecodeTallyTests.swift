import MartletToolSupport
import MartletToolTestSupport
import MartletWire
import Testing

@testable import MartletDecode
@testable import MartletTool

@Suite struct DecodeTallyTests {
    @Test func `counted events → their numbers in text and JSON`() {
        var tally = DecodeTally()
        var frame = DecodedFrame(
            position: StreamPosition(), header: FrameHeader(type: .ping), body: [], content: .unknown)
        tally.add(.frame(frame))
        tally.add(.note(StreamPosition(), "so"))
        #expect(tally.isValid)
        #expect(tally.text(nil) == "1 frame, 0 malformed")
        frame.content = .refused(DecodeFault(.refused, ""))
        tally.add(.frame(frame))
        #expect(!tally.isValid)
        tally.add(.fault(StreamPosition(), DecodeFault(.badMagic, "")))
        let totals = CaptureDecoder.Totals(packetCount: 9, connectionCount: 2, foreignCount: 1)
        #expect(tally.text(totals) == "2 frames in 2 connections, 1 others, 2 malformed")
        #expect(
            tally.json(totals).text == """
                {"event":"end","frames":2,"types":{"ping":2},"faults":1,"refused":1,"connections":2,"foreign":1,\
                "packets":9}
                """)
    }
}
