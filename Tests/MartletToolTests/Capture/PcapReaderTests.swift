import MartletWire
import Testing

@testable import MartletTool

@Suite struct PcapReaderTests {
    private func read(_ file: [UInt8], pieces: Int = 1) throws(CaptureError) -> [CapturedPacket] {
        var queue = ByteQueue()
        var reader = PcapReader(magic: file.rawBytes.loadUInt32(at: 0))!
        var packets: [CapturedPacket] = []
        for start in stride(from: 0, to: file.count, by: max(file.count / pieces, 1)) {
            queue.append(Array(file[start..<min(start + max(file.count / pieces, 1), file.count)]))
            while let packet = try reader.next(from: &queue) { packets.append(packet) }
        }
        return packets
    }

    @Test(
        "both byte orders, both resolutions",
        arguments: [
            (0xA1B2_C3D4, 1000), (0xD4C3_B2A1, 1000), (0xA1B2_3C4D, 1), (0x4D3C_B2A1, 1),
        ] as [(UInt32, UInt64)])
    func variants(magic: UInt32, nanoseconds: UInt64) throws {
        let file = Packets.pcap([[1, 2, 3], [], [4]], link: .ethernet, magic: magic)
        let packets = try read(file)
        #expect(packets.map(\.bytes) == [[1, 2, 3], [], [4]])
        #expect(packets.map(\.time) == (0..<3).map { 100_000_000_000 + $0 * nanoseconds })
        #expect(packets.allSatisfy { $0.link == .ethernet })
        #expect(try read(file, pieces: file.count) == packets)
    }

    @Test func `another magic is none`() {
        #expect(PcapReader(magic: 0x8D4D_5254) == nil)
    }

    @Test func `a packet that is too long to be one`() throws {
        var file = Packets.pcap([[1]])
        file[24 + 8] = 0x7F
        #expect(throws: CaptureError(place: "at byte 24", problem: "a packet of 2130706433 bytes")) { try read(file) }
    }

    @Test func `a file that ends inside a packet gives those before`() throws {
        let file = Packets.pcap([[1, 2], [3, 4]])
        #expect(try read(Array(file.dropLast())).map(\.bytes) == [[1, 2]])
    }
}
