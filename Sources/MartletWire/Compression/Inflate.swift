internal import CMartletCodec

/// A decompressor for bodies in zlib format (RFC 1950) with a limit for the output (Specs/hostile.md row 15).
///
/// It occupies 10 to 50 KiB of working memory. One decompressor serves a whole loop.
@safe
package struct Inflater: ~Copyable {
    /// The minimum capacity of the output buffer at the first attempt, in bytes.
    private static var minimumCapacity: Int { 1024 }
    /// The capacity beyond the limit, in bytes, that distinguishes truncated input from output that is too large. At
    /// the end of its input libdeflate reads 8 bytes of zeros, which produce at most 32 copies of 258 bytes.
    private static var capacityBeyondLimit: Int { 16 * 1024 }
    private let handle: OpaquePointer
    /// The number of bytes of output so far.
    package private(set) var producedByteCount = 0

    /// Creates a decompressor.
    package init() {
        self.init(codec: .best)
    }

    init(codec: Codec) {
        unsafe handle = martlet_inflater_create(codec == .zlib)
    }

    deinit {
        unsafe martlet_inflater_destroy(handle)
    }

    /// Returns the decompressed body. The output buffer grows fourfold up to `limit` bytes, so memory follows the real
    /// output, and at the end by another 16 KiB (W-19).
    ///
    /// - Throws: `inflateLimit` if the output exceeds `limit` bytes, `inflateFailed` if `bytes` is truncated or
    ///   damaged, has a wrong checksum, or is longer than the stream in it.
    package mutating func inflate(_ bytes: RawSpan, limit: Int) throws(WireError) -> [UInt8] {
        precondition(limit >= 0, "the limit is negative")
        var capacity = min(limit, max(4 * bytes.byteCount, Self.minimumCapacity))
        while true {
            var outcome = MARTLET_INFLATE_DAMAGED
            let output = coded(bytes, capacity: capacity) { input, output, count in
                unsafe outcome = martlet_inflater_run(handle, input, bytes.byteCount, output, capacity, &count)
            }
            switch outcome {
            case MARTLET_INFLATE_DONE where capacity <= limit:
                producedByteCount += output.count
                return output
            case MARTLET_INFLATE_FULL where capacity < limit: capacity = capacity > limit / 4 ? limit : capacity * 4
            case MARTLET_INFLATE_FULL where capacity == limit: capacity += min(Self.capacityBeyondLimit, .max - limit)
            case MARTLET_INFLATE_FULL, MARTLET_INFLATE_DONE: throw .inflateLimit(limit)
            default: throw .inflateFailed
            }
        }
    }
}

// One value, which cannot be copied, owns the working memory.
extension Inflater: @unchecked Sendable {}

/// A decompressor for the payloads of a ``DeflateStream``, in order. It occupies 44 KiB (W-94).
@safe
package final class InflateStream {
    private let handle: OpaquePointer

    /// Creates a stream that begins with the preset dictionary (W-93).
    package init() {
        unsafe handle = martlet_inflate_stream_create()
    }

    deinit {
        unsafe martlet_inflate_stream_destroy(handle)
    }

    /// Returns the next payload, inflated. After an error the stream must not be used again.
    ///
    /// - Throws: `inflateLimit` if the output exceeds `limit` bytes, `inflateFailed` if the payload is not Deflate or
    ///   ends the stream (W-95).
    package func inflate(_ payload: RawSpan, limit: Int) throws(WireError) -> [UInt8] {
        var outcome = MARTLET_INFLATE_DAMAGED
        let output = coded(payload, capacity: limit + 1) { input, output, count in
            unsafe outcome = martlet_inflate_stream_run(handle, input, payload.byteCount, output, limit, &count)
        }
        switch outcome {
        case MARTLET_INFLATE_DONE: return output
        case MARTLET_INFLATE_FULL: throw .inflateLimit(limit)
        default: throw .inflateFailed
        }
    }
}

// One reader owns the stream and accesses it from one executor at a time.
extension InflateStream: @unchecked Sendable {}
