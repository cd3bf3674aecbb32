import MartletDecode
import MartletWire

/// Writes the classic format of tcpdump, most significant bytes first, in nanoseconds, with packets that begin at their
/// IP header.
enum PcapWriter {
    /// What the file begins with.
    static var header: [UInt8] {
        var bytes: [UInt8] = []
        for number: UInt32 in [0xA1B2_3C4D, 0x0002_0004, 0, 0, 262_144, LinkType.raw.rawValue] {
            bytes.append(bigEndian: number)
        }
        return bytes
    }

    /// Appends a packet that was there at `time`, in nanoseconds since 1970.
    static func append(_ packet: [UInt8], at time: UInt64, to output: inout [UInt8]) {
        output.append(bigEndian: UInt32(truncatingIfNeeded: time / 1_000_000_000))
        output.append(bigEndian: UInt32(time % 1_000_000_000))
        output.append(bigEndian: UInt32(packet.count))
        output.append(bigEndian: UInt32(packet.count))
        output += packet
    }
}
