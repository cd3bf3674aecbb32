public import MartletWire

/// A frame body as it goes on the wire, cut into fragments and summed once, shared by every link that sends it.
///
/// A message that goes to a thousand members is encoded once: the links' send queues hold references, and each link
/// adds only its own 28-byte header, whose checksum continues the fragment's (`Specs/wire.md`, checksum). Small bodies
/// that came together may lie one behind the other in one storage; it lives as long as the last of them.
public struct EncodedBody: Sendable {
    /// How a body that is not one plain fragment is cut.
    private final class Cut: Sendable {
        struct Fragment {
            var end: Int
            var checksum: UInt32
            var compression: Compression
        }

        let fragments: [Fragment]
        let plainByteCount: Int
        let fragmentByteCount: Int

        init(_ fragments: [Fragment], plainByteCount: Int, fragmentByteCount: Int) {
            self.fragments = fragments
            self.plainByteCount = plainByteCount
            self.fragmentByteCount = fragmentByteCount
        }
    }

    /// The default size of a fragment before compression, in bytes (S-43).
    public static let defaultFragmentByteCount = 16 * 1024

    private let storage: [UInt8]
    private let start: UInt32
    private let end: UInt32
    /// Of the whole body, if it is one plain fragment.
    private let checksum: UInt32
    private let cut: Cut?
    /// Whether the link's deflate stream must not see it (W-96).
    var isSecret = false

    /// Cuts `plain` into fragments of at most `fragmentByteCount` bytes and sums each.
    public init(_ plain: [UInt8], fragmentByteCount: Int = EncodedBody.defaultFragmentByteCount) {
        self.init(plain, fragmentByteCount) { _ in nil }
    }

    /// The same with each fragment compressed by itself, since a frame stands alone on the wire; a fragment that would
    /// not become smaller stays as it is (S-43).
    public init(
        compressing plain: [UInt8], fragmentByteCount: Int = EncodedBody.defaultFragmentByteCount,
        with deflater: Deflater
    ) {
        self.init(plain, fragmentByteCount) { deflater.compress($0) }
    }

    /// One plain fragment, which lies at `range` of a storage that it may share with others.
    init(_ storage: [UInt8], range: Range<Int>) {
        precondition(range.count <= EncodedBody.defaultFragmentByteCount, "that is more than one fragment")
        self.init(storage, range.lowerBound, range.upperBound, nil)
    }

    private init(_ plain: [UInt8], _ fragmentByteCount: Int, _ compress: (RawSpan) -> [UInt8]?) {
        precondition(fragmentByteCount > 0, "a fragment has at least one byte")
        var wire: [UInt8] = []
        var fragments: [Cut.Fragment] = []
        for start in stride(from: 0, to: max(plain.count, 1), by: fragmentByteCount) {
            let piece = plain.rawBytes.extracting(start..<min(start + fragmentByteCount, plain.count))
            let packed = compress(piece)
            if packed == nil, piece.byteCount == plain.count {
                self.init(plain, 0, plain.count, nil)
                return
            }
            if wire.isEmpty { wire.reserveCapacity(plain.count) }
            let first = wire.count
            if let packed { wire += packed } else { wire.append(bytes: piece) }
            let checksum = CRC32.checksum(wire.rawBytes.extracting(first..<wire.count))
            let compression = packed == nil ? Compression.none : .zlib
            fragments.append(Cut.Fragment(end: wire.count, checksum: checksum, compression: compression))
        }
        self.init(
            wire, 0, wire.count, Cut(fragments, plainByteCount: plain.count, fragmentByteCount: fragmentByteCount))
    }

    private init(_ storage: [UInt8], _ start: Int, _ end: Int, _ cut: Cut?) {
        self.storage = storage
        self.start = UInt32(start)
        self.end = UInt32(end)
        self.cut = cut
        checksum = cut == nil ? CRC32.checksum(storage.rawBytes.extracting(start..<end)) : 0
    }

    /// The size of all fragments together, in bytes.
    public var byteCount: Int { Int(end &- start) }

    /// All fragments' bytes, one after the other, in an array of their own.
    public var bytes: [UInt8] {
        byteCount == storage.count ? storage : Array(storage[Int(start)..<Int(end)])
    }

    /// All fragments' bytes, one after the other, where they lie.
    public var rawBytes: RawSpan {
        @_lifetime(borrow self)
        get { storage.rawBytes.extracting(Int(start)..<Int(end)) }
    }

    /// Whether it is one plain fragment, and nothing else is to be said of it.
    var isWhole: Bool { cut == nil && !isSecret }

    /// Appends the one plain fragment that it is, behind its frame's header.
    func appendWhole(_ header: FrameHeader, to out: inout OutputRawSpan) {
        header.encode(before: rawBytes, checksum: checksum, into: &out)
    }

    /// The size of the body before it was compressed, in bytes: what credit counts.
    public var plainByteCount: Int { cut?.plainByteCount ?? byteCount }

    /// How many frames carry this body; at least one.
    public var fragmentCount: Int { cut?.fragments.count ?? 1 }

    /// One frame's share of the body; its place counts from the body's start.
    func fragment(_ index: Int) -> (range: Range<Int>, checksum: UInt32, compression: Compression) {
        guard let cut else { return (0..<byteCount, checksum, .none) }
        let start = index == 0 ? 0 : cut.fragments[index - 1].end
        let fragment = cut.fragments[index]
        return (start..<fragment.end, fragment.checksum, fragment.compression)
    }

    func byteCount(ofFragment index: Int) -> Int {
        cut == nil ? byteCount : fragment(index).range.count
    }

    func plainByteCount(ofFragment index: Int) -> Int {
        guard let cut else { return byteCount }
        return min(cut.fragmentByteCount, cut.plainByteCount - index * cut.fragmentByteCount)
    }
}
