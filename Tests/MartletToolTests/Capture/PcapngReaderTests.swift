import MartletWire
import Testing

@testable import MartletTool

@Suite struct PcapngReaderTests {
    /// Writes blocks in one byte order.
    private struct Writer {
        var isLittleEndian = true
        var bytes: [UInt8] = []

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

        mutating func section() {
            block(0x0A0D_0D0A, number(UInt32(0x1A2B_3C4D)) + number(UInt32(1)) + number(UInt64.max))
        }

        mutating func interface(_ link: UInt16, options: [UInt8] = []) {
            block(1, number(link) + [0, 0] + number(UInt32(0)) + options)
        }

        mutating func packet(_ bytes: [UInt8], on interface: UInt32 = 0, ticks: UInt64 = 5, length: UInt32? = nil) {
            let length = number(length ?? UInt32(bytes.count))
            block(
                6,
                number(interface) + number(UInt32(ticks >> 32)) + number(UInt32(truncatingIfNeeded: ticks)) + length
                    + length + bytes)
        }
    }

    private func read(_ file: [UInt8]) throws(CaptureError) -> [CapturedPacket] {
        var queue = ByteQueue()
        var reader = PcapngReader()
        var packets: [CapturedPacket] = []
        for byte in file {
            queue.append([byte])
            while let packet = try reader.next(from: &queue) { packets.append(packet) }
        }
        return packets
    }

    @Test(arguments: [true, false])
    func `packets of two interfaces, and blocks that nobody knows`(isLittleEndian: Bool) throws {
        var file = Writer(isLittleEndian: isLittleEndian)
        file.section()
        file.interface(1)
        file.interface(101)
        file.block(0x0BAD, [1, 2, 3])
        file.packet([7, 8, 9], on: 1)
        file.packet([], ticks: 1 << 33)
        #expect(
            try read(file.bytes) == [
                CapturedPacket(time: 5_000, link: .raw, bytes: [7, 8, 9]),
                CapturedPacket(time: 1_000 << 33, link: .ethernet, bytes: []),
            ])
    }

    @Test func `a new section forgets the interfaces and may turn the byte order round`() throws {
        var file = Writer()
        file.section()
        file.interface(1)
        file.isLittleEndian = false
        file.section()
        file.interface(101)
        file.packet([1])
        #expect(try read(file.bytes).map(\.link) == [.raw])
    }

    @Test func `the interface says in which unit it counts and from when`() throws {
        var file = Writer()
        file.section()
        file.interface(101, options: file.number(UInt16(9)) + file.number(UInt16(1)) + [9, 0, 0, 0])
        file.interface(101, options: file.number(UInt16(9)) + file.number(UInt16(1)) + [0x81, 0, 0, 0])
        file.interface(
            101, options: file.number(UInt16(14)) + file.number(UInt16(8)) + file.number(UInt64(3)))
        for interface: UInt32 in 0...2 { file.packet([], on: interface) }
        #expect(try read(file.bytes).map(\.time) == [5, 2_500_000_000, 3_000_005_000])
    }

    @Test func `a simple packet is of the first interface`() throws {
        var file = Writer()
        file.section()
        file.interface(101)
        file.block(3, file.number(UInt32(2)) + [1, 2])
        #expect(try read(file.bytes) == [CapturedPacket(time: 0, link: .raw, bytes: [1, 2])])
    }

    @Test func `what no such file holds`() {
        var file = Writer()
        file.section()
        let start = file.bytes.count
        func problem(_ change: (inout Writer) -> Void) -> String? {
            var file = file
            change(&file)
            do throws(CaptureError) { _ = try read(file.bytes) } catch { return error.problem }
            return nil
        }
        #expect(problem { $0.packet([]) } == "a packet of no interface")
        #expect(problem { $0.bytes[8] ^= 1 } == "a section without a byte order")
        #expect(problem { $0.block(1, []) } == "an interface without its fields")
        #expect(problem { $0.bytes += $0.number(UInt32(5)) + $0.number(UInt32(13)) + [0, 0, 0, 0] } != nil)
        #expect(
            problem {
                $0.block(5, [1, 2, 3, 4])
                $0.bytes[start + 12] ^= 4
            } == "a block with two different lengths")
        #expect(
            problem {
                $0.interface(101)
                $0.packet([1], length: 9)
            } == "a packet longer than its block")
        #expect(
            problem { $0.interface(1, options: $0.number(UInt16(2)) + $0.number(UInt16(9))) }
                == "an option longer than its block")
    }
}
