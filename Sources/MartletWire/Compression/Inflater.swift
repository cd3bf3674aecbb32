internal import CMartletCodec

/// Decompresses bodies in zlib format (RFC 1950), never beyond a limit (Specs/hostile.md row 15).
///
/// Holds some 10 to 50 KiB of working memory and is meant to serve a whole loop, not one connection.
@safe
public struct Inflater: ~Copyable {
    /// The least output room that is tried first, in bytes.
    private static var smallestRoomByteCount: Int { 1024 }
    /// Room beyond the limit, in bytes, that tells what is cut short from what is too large: behind the end of its
    /// input libdeflate reads 8 bytes of zeros, and no more than 32 copies of 258 bytes come of these.
    private static var roomBeyondLimitByteCount: Int { 16 * 1024 }
    private let handle: OpaquePointer
    /// Bytes that have come out so far.
    package private(set) var producedByteCount = 0

    /// A decompressor.
    public init() {
        self.init(codec: .best)
    }

    init(codec: Codec) {
        unsafe handle = martlet_inflater_create(codec == .zlib)
    }

    deinit {
        unsafe martlet_inflater_destroy(handle)
    }

    /// The decompressed body. Room for it grows fourfold up to `limit` bytes, so memory follows what really comes out,
    /// and at the end by 16 KiB more (W-19).
    ///
    /// Throws `inflateLimit` when more than `limit` bytes would come out, `inflateFailed` when `bytes` is truncated,
    /// damaged, has a wrong checksum, or does not end where the stream in it ends.
    public mutating func inflate(_ bytes: RawSpan, limit: Int) throws(WireError) -> [UInt8] {
        precondition(limit >= 0, "the limit is negative")
        var room = min(limit, max(4 * bytes.byteCount, Self.smallestRoomByteCount))
        while true {
            var outcome = MARTLET_INFLATE_DAMAGED
            let output = coded(bytes, capacity: room) { input, output, count in
                unsafe outcome = martlet_inflater_run(handle, input, bytes.byteCount, output, room, &count)
            }
            switch outcome {
            case MARTLET_INFLATE_DONE where room <= limit:
                producedByteCount += output.count
                return output
            case MARTLET_INFLATE_FULL where room < limit: room = room > limit / 4 ? limit : room * 4
            case MARTLET_INFLATE_FULL where room == limit: room += min(Self.roomBeyondLimitByteCount, .max - limit)
            case MARTLET_INFLATE_FULL, MARTLET_INFLATE_DONE: throw .inflateLimit(limit)
            default: throw .inflateFailed
            }
        }
    }
}

// The working memory is owned by one value that cannot be copied.
extension Inflater: @unchecked Sendable {}
