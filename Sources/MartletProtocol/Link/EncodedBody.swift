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

    /// Bytes in a body's storage. To ask the storage for them is to count references to it, for each frame that is
    /// written. Who reads them here keeps a body of that storage meanwhile.
    @safe
    struct Place: BitwiseCopyable {
        private let start: UnsafeRawPointer
        private let count: UInt32
        /// Of the whole body, if it is one plain fragment.
        let checksum: UInt32

        @inline(__always)
        fileprivate init(_ storage: [UInt8], _ range: Range<Int>, checksum: UInt32) {
            precondition(range.upperBound <= storage.count, "the range ends behind the storage")
            unsafe start = storage.withUnsafeBytes { unsafe $0.baseAddress.unsafelyUnwrapped } + range.lowerBound
            count = UInt32(range.count)
            self.checksum = checksum
        }

        var byteCount: Int { Int(count) }

        @unsafe var rawBytes: RawSpan {
            @_lifetime(immortal)
            get { unsafe _overrideLifetime(RawSpan(_unsafeStart: start, byteCount: byteCount), copying: ()) }
        }

        /// Appends the one plain fragment that it is, behind its frame's header.
        @inline(__always)
        @unsafe func appendWhole(_ header: FrameHeader, to out: inout OutputRawSpan) {
            unsafe header.encode(before: rawBytes, checksum: checksum, into: &out)
        }
    }

    /// The default size of a fragment before compression, in bytes (S-43).
    public static let defaultFragmentByteCount = 16 * 1024

    /// Keeps the bytes where they are: it is never changed, and neither is memory that an array shares.
    private let storage: [UInt8]
    /// Where they are.
    let place: Place
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

    /// One plain fragment, which lies at `range` of a storage that it may share with others, and has this checksum.
    @inline(__always)
    init(_ storage: [UInt8], range: Range<Int>, checksum: UInt32) {
        precondition(range.count <= EncodedBody.defaultFragmentByteCount, "that is more than one fragment")
        self.storage = storage
        place = Place(storage, range, checksum: checksum)
        cut = nil
    }

    private init(_ plain: [UInt8], _ fragmentByteCount: Int, _ compress: (RawSpan) -> [UInt8]?) {
        precondition(fragmentByteCount > 0, "a fragment has at least one byte")
        var wire: [UInt8] = []
        var fragments: [Cut.Fragment] = []
        for start in stride(from: 0, to: max(plain.count, 1), by: fragmentByteCount) {
            let piece = plain.rawBytes.extracting(start..<min(start + fragmentByteCount, plain.count))
            let packed = compress(piece)
            if packed == nil, piece.byteCount == plain.count {
                self.init(plain, nil)
                return
            }
            if wire.isEmpty { wire.reserveCapacity(plain.count) }
            let first = wire.count
            if let packed { wire += packed } else { wire.append(bytes: piece) }
            let checksum = CRC32.checksum(wire.rawBytes.extracting(first..<wire.count))
            let compression = packed == nil ? Compression.none : .zlib
            fragments.append(Cut.Fragment(end: wire.count, checksum: checksum, compression: compression))
        }
        self.init(wire, Cut(fragments, plainByteCount: plain.count, fragmentByteCount: fragmentByteCount))
    }

    private init(_ storage: [UInt8], _ cut: Cut?) {
        self.storage = storage
        self.cut = cut
        place = Place(storage, 0..<storage.count, checksum: cut == nil ? CRC32.checksum(storage.rawBytes) : 0)
    }

    /// The size of all fragments together, in bytes.
    public var byteCount: Int { place.byteCount }

    /// All fragments' bytes, one after the other, in an array of their own.
    public var bytes: [UInt8] {
        byteCount == storage.count ? storage : [UInt8](copying: rawBytes)
    }

    /// All fragments' bytes, one after the other, where they lie.
    public var rawBytes: RawSpan {
        @_lifetime(borrow self)
        get { unsafe _overrideLifetime(place.rawBytes, borrowing: self) }
    }

    /// Whether it is one plain fragment, and nothing else is to be said of it.
    var isWhole: Bool { cut == nil && !isSecret }

    /// The size of the body before it was compressed, in bytes: what credit counts.
    public var plainByteCount: Int { cut?.plainByteCount ?? byteCount }

    /// How many frames carry this body; at least one.
    public var fragmentCount: Int { cut?.fragments.count ?? 1 }

    /// One frame's share of the body; its place counts from the body's start.
    func fragment(_ index: Int) -> (range: Range<Int>, checksum: UInt32, compression: Compression) {
        guard let cut else { return (0..<byteCount, place.checksum, .none) }
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

// What the address points to is never changed.
extension EncodedBody.Place: @unchecked Sendable {}
