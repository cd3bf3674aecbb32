public import MartletWire

/// A frame body as it goes on the wire, cut into fragments and summed once, shared by every link that sends it.
///
/// A message that goes to a thousand members is one `EncodedBody`: the links' send queues hold references, and each
/// link adds only its own 28-byte header, whose checksum continues the fragment's (`Specs/wire.md`, checksum).
public final class EncodedBody: Sendable {
    /// One frame's share of the body.
    private struct Fragment: Sendable {
        var end: Int
        var checksum: UInt32
        var compression: Compression

        init(end: Int, _ bytes: [UInt8], isCompressed: Bool) {
            self.end = end
            checksum = CRC32.checksum(bytes.rawBytes)
            compression = isCompressed ? .zlib : .none
        }
    }

    /// The default size of a fragment before compression, in bytes (S-43).
    public static let defaultFragmentByteCount = 16 * 1024

    /// All fragments' bytes, one after the other.
    public let bytes: [UInt8]
    /// The size of the body before it was compressed, in bytes: what credit counts.
    public let plainByteCount: Int
    private let fragmentByteCount: Int
    private let first: Fragment
    private let others: [Fragment]

    /// Cuts `plain` into fragments of at most `fragmentByteCount` bytes and sums each.
    public convenience init(_ plain: [UInt8], fragmentByteCount: Int = EncodedBody.defaultFragmentByteCount) {
        self.init(plain, fragmentByteCount) { _ in nil }
    }

    /// The same with each fragment compressed by itself, since a frame stands alone on the wire; a fragment that would
    /// not become smaller stays as it is (S-43).
    public convenience init(
        compressing plain: [UInt8], fragmentByteCount: Int = EncodedBody.defaultFragmentByteCount,
        with deflater: inout Deflater
    ) {
        self.init(plain, fragmentByteCount) { deflater.compress($0) }
    }

    private init(_ plain: [UInt8], _ fragmentByteCount: Int, _ compress: (RawSpan) -> [UInt8]?) {
        precondition(fragmentByteCount > 0, "a fragment has at least one byte")
        plainByteCount = plain.count
        self.fragmentByteCount = fragmentByteCount
        if plain.count <= fragmentByteCount {
            let packed = compress(plain.rawBytes)
            let wire = packed ?? plain
            first = Fragment(end: wire.count, wire, isCompressed: packed != nil)
            others = []
            bytes = wire
            return
        }
        var wire: [UInt8] = []
        wire.reserveCapacity(plain.count)
        var fragments: [Fragment] = []
        for start in stride(from: 0, to: plain.count, by: fragmentByteCount) {
            let piece = Array(plain[start..<min(start + fragmentByteCount, plain.count)])
            let packed = compress(piece.rawBytes)
            wire += packed ?? piece
            fragments.append(Fragment(end: wire.count, packed ?? piece, isCompressed: packed != nil))
        }
        first = fragments.removeFirst()
        others = fragments
        bytes = wire
    }

    /// How many frames carry this body; at least one.
    public var fragmentCount: Int { 1 + others.count }

    func fragment(_ index: Int) -> (range: Range<Int>, checksum: UInt32, compression: Compression) {
        if index == 0 { return (0..<first.end, first.checksum, first.compression) }
        let start = index == 1 ? first.end : others[index - 2].end
        let fragment = others[index - 1]
        return (start..<fragment.end, fragment.checksum, fragment.compression)
    }

    func byteCount(ofFragment index: Int) -> Int {
        fragment(index).range.count
    }

    func plainByteCount(ofFragment index: Int) -> Int {
        min(fragmentByteCount, plainByteCount - index * fragmentByteCount)
    }
}
