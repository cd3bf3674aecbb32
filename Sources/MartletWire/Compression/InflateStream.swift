internal import CMartletCodec

/// A decompressor for the payloads of a ``DeflateStream``, in order. It occupies 44 KiB (W-94).
@safe
public final class InflateStream {
    private let handle: OpaquePointer

    /// Creates a stream that begins with the preset dictionary (W-93).
    public init() {
        unsafe handle = martlet_inflate_stream_create()
    }

    deinit {
        unsafe martlet_inflate_stream_destroy(handle)
    }

    /// Returns the next payload, inflated. After an error the stream must not be used again.
    ///
    /// - Throws: `inflateLimit` if the output exceeds `limit` bytes, `inflateFailed` if the payload is not Deflate or
    ///   ends the stream (W-95).
    public func inflate(_ payload: RawSpan, limit: Int) throws(WireError) -> [UInt8] {
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
