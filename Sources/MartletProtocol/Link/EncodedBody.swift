public import MartletWire

/// A frame body as it goes on the wire, cut into fragments once, shared by every link that sends it.
///
/// A message that goes to a thousand members is encoded once: the links' send queues hold references, and each link's
/// encoder adds what is its own. Small bodies that came together may lie one behind the other in one storage; it lives
/// as long as the last of them.
public struct EncodedBody: Sendable {
    /// How a body that is not one plain fragment is cut.
    private final class Cut: Sendable {
        struct Fragment {
            var end: Int
            var checksum: UInt32?
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
    /// Where in the storage it begins, and the size of all fragments together, in bytes.
    private let start: UInt32
    private let count: UInt32
    private let cut: Cut?
    /// The CRC-32 of a body of one plain fragment, once computed.
    let checksum: UInt32?
    /// Where the values of the body are, if it is one plain fragment.
    private(set) var layout = BodyLayout.unknown
    /// Whether the link's deflate stream must not see it (W-96).
    var isSecret = false

    /// Cuts `plain` into fragments of at most `fragmentByteCount` bytes.
    ///
    /// - Parameters:
    ///   - layout: where its values are, as who wrote it knows.
    ///   - isSummed: whether each fragment's checksum is needed more than once.
    public init(
        _ plain: [UInt8], fragmentByteCount: Int = EncodedBody.defaultFragmentByteCount, layout: BodyLayout = .unknown,
        isSummed: Bool = false
    ) {
        self.init(plain, fragmentByteCount, isSummed: isSummed) { _ in nil }
        if cut == nil { self.layout = layout }
    }

    /// The same with each fragment compressed by itself, since a frame stands alone on the wire; a fragment that would
    /// not become smaller stays as it is (S-43).
    public init(
        compressing plain: [UInt8], fragmentByteCount: Int = EncodedBody.defaultFragmentByteCount,
        with deflater: Deflater
    ) {
        self.init(plain, fragmentByteCount, isSummed: false) { deflater.compress($0) }
    }

    /// One plain fragment, which lies at `range` of a storage that it may share with others.
    ///
    /// - Parameter isSummed: whether its checksum is needed more than once.
    @inline(__always)
    init(_ storage: [UInt8], range: Range<Int>, layout: BodyLayout, isSummed: Bool) {
        precondition(range.count <= EncodedBody.defaultFragmentByteCount, "that is more than one fragment")
        self.init(storage, range, nil, isSummed: isSummed)
        self.layout = layout
    }

    private init(
        _ plain: [UInt8], _ fragmentByteCount: Int, isSummed: Bool, _ compress: (RawSpan) -> [UInt8]?
    ) {
        precondition(fragmentByteCount > 0, "a fragment has at least one byte")
        var wire: [UInt8] = []
        var fragments: [Cut.Fragment] = []
        for start in stride(from: 0, to: max(plain.count, 1), by: fragmentByteCount) {
            let piece = plain.rawBytes.extracting(start..<min(start + fragmentByteCount, plain.count))
            let packed = compress(piece)
            if packed == nil, piece.byteCount == plain.count {
                self.init(plain, 0..<plain.count, nil, isSummed: isSummed)
                return
            }
            if wire.isEmpty { wire.reserveCapacity(plain.count) }
            let first = wire.count
            if let packed { wire += packed } else { wire.append(bytes: piece) }
            let checksum = isSummed ? CRC32.checksum(wire.rawBytes.extracting(droppingFirst: first)) : nil
            let compression = packed == nil ? Compression.none : .zlib
            fragments.append(Cut.Fragment(end: wire.count, checksum: checksum, compression: compression))
        }
        let cut = Cut(fragments, plainByteCount: plain.count, fragmentByteCount: fragmentByteCount)
        self.init(wire, 0..<wire.count, cut, isSummed: false)
    }

    @inline(__always)
    private init(_ storage: [UInt8], _ range: Range<Int>, _ cut: Cut?, isSummed: Bool) {
        precondition(range.upperBound <= storage.count, "the range ends behind the storage")
        self.storage = storage
        self.cut = cut
        start = UInt32(range.lowerBound)
        count = UInt32(range.count)
        checksum = isSummed ? CRC32.checksum(storage.rawBytes.extracting(range)) : nil
    }

    /// The size of all fragments together, in bytes.
    public var byteCount: Int { Int(count) }

    /// All fragments' bytes, one after the other, in an array of their own.
    public var bytes: [UInt8] {
        byteCount == storage.count ? storage : [UInt8](copying: rawBytes)
    }

    /// All fragments' bytes, one after the other, where they lie.
    public var rawBytes: RawSpan {
        @_lifetime(borrow self)
        get { storage.rawBytes.extracting(Int(start)..<Int(start) + Int(count)) }
    }

    /// Whether it is one plain fragment, and nothing else is to be said of it.
    var isWhole: Bool { cut == nil && !isSecret }

    /// The size of the body before it was compressed, in bytes: what credit counts.
    public var plainByteCount: Int { cut?.plainByteCount ?? byteCount }

    /// How many frames carry this body; at least one.
    public var fragmentCount: Int { cut?.fragments.count ?? 1 }

    /// One frame's share of the body; its place counts from the body's start.
    func fragment(_ index: Int) -> (range: Range<Int>, checksum: UInt32?, compression: Compression) {
        guard let cut else { return (0..<byteCount, checksum, .none) }
        let start = index == 0 ? 0 : cut.fragments[index - 1].end
        let fragment = cut.fragments[index]
        return (start..<fragment.end, fragment.checksum, fragment.compression)
    }

    /// Writes the one plain fragment that it is, behind its frame's header.
    @inline(__always)
    @_lifetime(out: copy out)
    func appendWhole(_ header: FrameHeader, _ encoder: FrameEncoder, to out: inout OutputRawSpan) {
        encoder.append(header, rawBytes, layout: layout, checksum: checksum, into: &out)
    }

    func byteCount(ofFragment index: Int) -> Int {
        cut == nil ? byteCount : fragment(index).range.count
    }

    func plainByteCount(ofFragment index: Int) -> Int {
        guard let cut else { return byteCount }
        return min(cut.fragmentByteCount, cut.plainByteCount - index * cut.fragmentByteCount)
    }
}

extension EncodedBody {
    /// A room's message that came from elsewhere, with its layout looked for.
    func laidOut() -> EncodedBody {
        guard cut == nil, layout == .unknown else { return self }
        var body = self
        body.layout = BodyLayout(of: .data, rawBytes)
        return body
    }
}
