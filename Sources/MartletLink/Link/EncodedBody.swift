package import MartletWire

/// An encoded frame body, divided into fragments once and shared by all links that send it.
///
/// A message for a thousand members is encoded once: the links' send queues hold references, and each link's encoder
/// adds its own header. Small bodies of one batch may share a storage, which lives as long as the last of them.
public struct EncodedBody: Sendable {
    /// The fragments of a body that is not one plain fragment.
    @usableFromInline
    final class Cut: Sendable {
        @usableFromInline
        struct Fragment: Sendable {
            var end: Int
            var checksum: UInt32?
            var compression: Compression
        }

        @usableFromInline let fragments: [Fragment]
        @usableFromInline let plainByteCount: Int
        let fragmentByteCount: Int

        init(_ fragments: [Fragment], plainByteCount: Int, fragmentByteCount: Int) {
            self.fragments = fragments
            self.plainByteCount = plainByteCount
            self.fragmentByteCount = fragmentByteCount
        }
    }

    /// The default size of a fragment before compression, in bytes (S-43).
    package static let defaultFragmentByteCount = 16 * 1024

    private let storage: [UInt8]
    /// The offset of the body in the storage, and the size of all fragments, in bytes.
    private let start: UInt32
    @usableFromInline let count: UInt32
    @usableFromInline let cut: Cut?
    /// The CRC-32 of a body of one plain fragment; nil if it was not computed.
    package let checksum: UInt32?
    /// The offsets of the body's values, if it is one plain fragment.
    package private(set) var layout = BodyLayout.unknown
    /// Whether the body is excluded from the link's deflate stream (W-96).
    package var isSecret = false

    /// Creates a body from its bytes, as a store has kept them.
    public init(_ bytes: [UInt8]) {
        self.init(bytes, fragmentByteCount: EncodedBody.defaultFragmentByteCount)
    }

    /// Cuts `plain` into fragments of at most `fragmentByteCount` bytes.
    ///
    /// - Parameters:
    ///   - layout: the offsets of its values, as its writer knows them.
    ///   - isSummed: whether each fragment's checksum is needed more than once.
    package init(
        _ plain: [UInt8], fragmentByteCount: Int = EncodedBody.defaultFragmentByteCount, layout: BodyLayout = .unknown,
        isSummed: Bool = false
    ) {
        self.init(plain, fragmentByteCount, isSummed: isSummed) { _ in nil }
        if cut == nil { self.layout = layout }
    }

    /// Divides `plain` and compresses each fragment separately, since each frame is decoded on its own. A fragment that
    /// would not become smaller is not compressed (S-43).
    package init(
        compressing plain: [UInt8], fragmentByteCount: Int = EncodedBody.defaultFragmentByteCount,
        with deflater: Deflater
    ) {
        self.init(plain, fragmentByteCount, isSummed: false) { deflater.compress($0) }
    }

    /// One plain fragment at `range` of a storage that it may share with other bodies.
    ///
    /// - Parameter isSummed: whether its checksum is needed more than once.
    @inline(__always)
    package init(_ storage: [UInt8], range: Range<Int>, layout: BodyLayout, isSummed: Bool) {
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

    /// The size of all fragments, in bytes.
    @inlinable
    public var byteCount: Int { Int(count) }

    /// The bytes of all fragments in an array of their own.
    public var bytes: [UInt8] {
        byteCount == storage.count ? storage : [UInt8](copying: rawBytes)
    }

    /// The bytes of all fragments in place.
    public var rawBytes: RawSpan {
        @_lifetime(borrow self)
        get { storage.rawBytes.extracting(Int(start)..<Int(start) + Int(count)) }
    }

    /// Whether it is one plain fragment that may be compressed by the link's deflate stream.
    var isWhole: Bool { cut == nil && !isSecret }

    /// The size of the body before compression, in bytes: its cost in credit.
    @inlinable
    package var plainByteCount: Int { cut?.plainByteCount ?? byteCount }

    /// The number of frames that carry this body; at least one.
    @inlinable
    package var fragmentCount: Int { cut?.fragments.count ?? 1 }

    /// A fragment; its range counts from the start of the body.
    func fragment(_ index: Int) -> (range: Range<Int>, checksum: UInt32?, compression: Compression) {
        guard let cut else { return (0..<byteCount, checksum, .none) }
        let start = index == 0 ? 0 : cut.fragments[index - 1].end
        let fragment = cut.fragments[index]
        return (start..<fragment.end, fragment.checksum, fragment.compression)
    }

    /// Writes a body that is one plain fragment, with its frame's header.
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
    /// The same body without the other bodies of its storage.
    package func detached() -> EncodedBody {
        guard cut == nil, byteCount < storage.count else { return self }
        var body = EncodedBody([UInt8](copying: rawBytes), layout: layout, isSummed: checksum != nil)
        body.isSecret = isSecret
        return body
    }

    /// The body of a message with its layout determined, unless it is known.
    func laidOut() -> EncodedBody {
        guard cut == nil, layout == .unknown else { return self }
        var body = self
        body.layout = BodyLayout(of: .data, rawBytes)
        return body
    }
}
