import MartletToolSupport
import MartletToolTestSupport
import MartletWire
import Testing

@testable import MartletDecode
@testable import MartletLab

@Suite struct CaptureRecorderTests {
    /// Returns the packets of the capture as the reader decodes them: seconds, sender, flags, payload.
    private func packets(_ recorder: inout CaptureRecorder) throws -> [String] {
        let reader = try CaptureReader(bytes: PcapWriter.header + recorder.takeBytes())
        var lines: [String] = []
        while let packet = try reader.next() {
            guard case .segment(let segment) = TCPSegment.parse(packet) else { continue }
            let sender = segment.source == Packets.client ? ">" : "<"
            lines.append("\(packet.time / 1_000_000_000) \(sender) \(segment.flags.rawValue) \(segment.payload)")
        }
        return lines
    }

    @Test func `bytes are recorded at their arrival, and a cut as a reset`() throws {
        var recorder = CaptureRecorder(begin: 50_000_000_000)
        recorder.open(1, from: Packets.client, to: Packets.server, now: .seconds(1))
        recorder.carry([7, 8].rawBytes, 1, .up, now: .seconds(2))
        recorder.carry([9].rawBytes, 1, .down, now: .seconds(3))
        recorder.carry(RawSpan(), 1, .down, now: .seconds(4))
        recorder.close(1, now: .seconds(5))
        recorder.carry([1].rawBytes, 1, .up, now: .seconds(6))
        #expect(
            try packets(&recorder) == [
                "51 > 2 []", "51 < 18 []", "51 > 16 []", "52 > 24 [7, 8]", "53 < 24 [9]", "55 < 20 []",
            ])
        #expect(recorder.takeBytes() == [])
    }

    @Test func `orderly ends are recorded as ends`() throws {
        var recorder = CaptureRecorder(begin: 0)
        recorder.open(1, from: Packets.client, to: Packets.server, now: .zero)
        recorder.end(1, .down, now: .seconds(1))
        recorder.end(1, .up, now: .seconds(2))
        recorder.close(1, now: .seconds(3))
        let lines = try packets(&recorder)
        #expect(lines.suffix(4) == ["1 < 17 []", "1 > 16 []", "2 > 17 []", "2 < 16 []"])
    }

    @Test func `a connection open at the end is recorded as cut`() throws {
        var recorder = CaptureRecorder(begin: 0)
        for number in 1...2 { recorder.open(number, from: Packets.client, to: Packets.server, now: .zero) }
        recorder.closeAll(now: .seconds(1))
        #expect(try packets(&recorder).count { $0 == "1 < 20 []" } == 2)
    }
}
