import MartletDecode
import MartletWire

/// An encoder for the classic pcap format: big-endian, with a resolution of nanoseconds, and packets that begin with
/// the IP header.
enum PcapWriter {
    /// The header of a file.
    static var header: [UInt8] {
        var bytes: [UInt8] = []
        for number: UInt32 in [0xA1B2_3C4D, 0x0002_0004, 0, 0, 262_144, LinkType.raw.rawValue] {
            bytes.append(bigEndian: number)
        }
        return bytes
    }

    /// Appends a packet with its time in nanoseconds since 1970.
    static func append(_ packet: [UInt8], at time: UInt64, to output: inout [UInt8]) {
        output.append(bigEndian: UInt32(truncatingIfNeeded: time / 1_000_000_000))
        output.append(bigEndian: UInt32(time % 1_000_000_000))
        output.append(bigEndian: UInt32(packet.count))
        output.append(bigEndian: UInt32(packet.count))
        output += packet
    }
}
