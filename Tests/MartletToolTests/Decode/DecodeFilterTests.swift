import MartletToolSupport
import MartletToolTestSupport
import MartletWire
import Testing

@testable import MartletDecode
@testable import MartletTool

@Suite struct DecodeFilterTests {
    private func event(_ value: Frame, session: UInt16, connection: Int = 1) -> DecodeEvent {
        let header = FrameHeader(type: value.type, session: SessionID(rawValue: session))
        return .frame(
            DecodedFrame(
                position: StreamPosition(connection: connection), header: header, body: [], content: .frame(value)))
    }

    @Test func `a session filter passes its frames and the resets that name it`() {
        let filter = DecodeFilter(session: SessionID(rawValue: 3))
        #expect(filter.shows(event(text("a"), session: 3)))
        #expect(!filter.shows(event(text("a"), session: 1)))
        #expect(filter.shows(event(.reset(Reset(session: SessionID(rawValue: 3), code: .refused)), session: 0)))
        #expect(!filter.shows(event(.reset(Reset(session: SessionID(rawValue: 1), code: .refused)), session: 0)))
        #expect(filter.shows(.fault(StreamPosition(), DecodeFault(.badMagic, ""))))
    }

    @Test func `filters of types and connections pass only these`() {
        let filter = DecodeFilter(connection: 2, types: [.data])
        #expect(filter.shows(event(text("a"), session: 3, connection: 2)))
        #expect(!filter.shows(event(text("a"), session: 3)))
        #expect(!filter.shows(event(.suspend(Suspend()), session: 3, connection: 2)))
        #expect(!filter.shows(.note(StreamPosition(connection: 1), "so")))
    }
}
