import Foundation
import MartletToolTestSupport
import MartletWire
import Testing

@testable import MartletDecode

@Suite struct CaptureReaderTests {
    /// Writes the blocks of a pcapng file in one byte order.
    private struct Writer {
        var isLittleEndian = true
        var bytes: [UInt8] = []

        init(isLittleEndian: Bool = true) {
            self.isLittleEndian = isLittleEndian
            block(0x0A0D_0D0A, number(UInt32(0x1A2B_3C4D)) + number(UInt16(1)) + number(UInt16(0)) + number(UInt64.max))
        }

        func number<Value: FixedWidthInteger & BitwiseCopyable>(_ value: Value) -> [UInt8] {
            var bytes: [UInt8] = []
            bytes.append(bigEndian: isLittleEndian ? value.byteSwapped : value)
            return bytes
        }

        mutating func block(_ type: UInt32, _ value: [UInt8]) {
            let padded = value + [UInt8](repeating: 0, count: (4 - value.count % 4) % 4)
            let length = number(UInt32(padded.count + 12))
            bytes += number(type) + length + padded + length
        }

        mutating func interface(_ link: UInt16, options: [UInt8] = []) {
            block(1, number(link) + [0, 0] + number(UInt32(0)) + options)
        }

        mutating func packet(_ bytes: [UInt8], on interface: UInt32 = 0, ticks: UInt64 = 5) {
            let length = number(UInt32(bytes.count))
            let head = number(interface) + number(UInt32(ticks >> 32)) + number(UInt32(truncatingIfNeeded: ticks))
            block(6, head + length + length + bytes)
        }
    }

    private func read(_ file: [UInt8]) throws(CaptureError) -> [CapturedPacket] {
        let reader = try CaptureReader(bytes: file)
        var packets: [CapturedPacket] = []
        while let packet = try reader.next() { packets.append(packet) }
        return packets
    }

    @Test(
        "pcap in both byte orders and resolutions → packets with nanoseconds",
        arguments: [
            (0xA1B2_C3D4, 1000), (0xD4C3_B2A1, 1000), (0xA1B2_3C4D, 1), (0x4D3C_B2A1, 1),
        ] as [(UInt32, UInt64)])
    func variants(magic: UInt32, nanoseconds: UInt64) throws {
        let packets = try read(Packets.pcap([[1, 2, 3], [], [4]], link: .ethernet, magic: magic))
        #expect(packets.map(\.bytes) == [[1, 2, 3], [], [4]])
        #expect(packets.map(\.time) == (0..<3).map { 100_000_000_000 + $0 * nanoseconds })
        #expect(packets.allSatisfy { $0.link == .ethernet })
    }

    @Test func `a time after 2038 in pcap → unsigned seconds`() throws {
        var file = Packets.pcap([[1]])
        file.replaceSubrange(24..<28, with: [0xFF, 0xFF, 0xFF, 0xFF])
        #expect(try read(file).map(\.time) == [4_294_967_295_000_000_000])
    }

    @Test(arguments: [true, false])
    func `pcapng with two interfaces and an unknown block → packets of both`(isLittleEndian: Bool) throws {
        var file = Writer(isLittleEndian: isLittleEndian)
        file.interface(1)
        file.interface(1)
        file.block(0x0BAD, [1, 2, 3])
        file.packet([7, 8, 9], on: 1)
        file.packet([], ticks: 1 << 33)
        #expect(
            try read(file.bytes) == [
                CapturedPacket(time: 5_000, link: .ethernet, bytes: [7, 8, 9]),
                CapturedPacket(time: 1_000 << 33, link: .ethernet, bytes: []),
            ])
    }

    @Test func `pcapng with time resolutions and an offset → nanoseconds`() throws {
        var file = Writer()
        file.interface(1, options: file.number(UInt16(9)) + file.number(UInt16(1)) + [9, 0, 0, 0])
        file.interface(1, options: file.number(UInt16(9)) + file.number(UInt16(1)) + [0x81, 0, 0, 0])
        file.interface(1, options: file.number(UInt16(14)) + file.number(UInt16(8)) + file.number(UInt64(3)))
        for interface: UInt32 in 0...2 { file.packet([], on: interface) }
        #expect(try read(file.bytes).map(\.time) == [5, 2_500_000_000, 3_000_005_000])
    }

    @Test func `pcapng with interfaces of two link types → malformed`() throws {
        var file = Writer()
        file.interface(1)
        file.packet([1])
        file.interface(101)
        #expect(throws: CaptureError.self) { try read(file.bytes) }
        let reader = try CaptureReader(bytes: file.bytes)
        #expect(try reader.next()?.bytes == [1])
        let error = try #require(#expect(throws: CaptureError.self) { try reader.next() })
        guard case .malformed(packetCount: 1, _) = error else {
            Issue.record("\(error)")
            return
        }
        #expect(throws: error) { try reader.next() }
    }

    @Test func `bytes of another format, or none → notACapture`() {
        for bytes in [[], [1, 2, 3], [0x8D, 0x4D, 0x52, 0x54], [0xA1, 0xB2, 0xC3, 0xD4]] as [[UInt8]] {
            let error = #expect(throws: CaptureError.self) { try CaptureReader(bytes: bytes) }
            guard case .notACapture = error else {
                Issue.record("\(String(describing: error))")
                return
            }
        }
    }

    @Test func `a packet beyond libpcap's bound → malformed`() {
        var file = Packets.pcap([[1]])
        file[24 + 8] = 0x7F
        let error = #expect(throws: CaptureError.self) { try read(file) }
        guard case .malformed(packetCount: 0, let reason) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(!reason.isEmpty)
    }

    @Test func `a file that ends inside a packet → the packets before it, then truncated`() throws {
        let reader = try CaptureReader(bytes: Array(Packets.pcap([[1, 2], [3, 4]]).dropLast()))
        #expect(try reader.next()?.bytes == [1, 2])
        #expect(throws: CaptureError.truncated(packetCount: 1)) { try reader.next() }
    }

    @Test func `a path, and an open descriptor → the same packets as in memory`() throws {
        try withTemporaryFolder { folder in
            let path = folder + "/a.pcap"
            let file = Packets.pcap([[1, 2], [3]])
            try Data(file).write(to: URL(fileURLWithPath: path))
            let expected = try read(file)
            for reader in [
                try CaptureReader(path: path), try CaptureReader(descriptor: unsafe open(path, O_RDONLY)),
            ] {
                #expect([try reader.next(), try reader.next()] == expected)
                #expect(try reader.next() == nil)
            }
        }
    }

    @Test func `a path without a file, and a closed descriptor → unreadable`() throws {
        #expect(throws: CaptureError.unreadable(reason: "No such file or directory")) {
            try CaptureReader(path: "/nowhere/a.pcap")
        }
        #expect(throws: CaptureError.unreadable(reason: "Bad file descriptor")) { try CaptureReader(descriptor: -1) }
    }
}
