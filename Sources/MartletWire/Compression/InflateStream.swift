internal import CMartletCodec

/// Inflates one payload after the other, as ``DeflateStream`` has deflated them. It takes 44 KiB (W-94).
@safe
public final class InflateStream {
    private let handle: OpaquePointer

    /// A stream that begins with the preset dictionary (W-93).
    public init() {
        unsafe handle = martlet_inflate_stream_create()
    }

    deinit {
        unsafe martlet_inflate_stream_destroy(handle)
    }

    /// The next payload. After an error the stream is of no use.
    ///
    /// Throws `inflateLimit` when more than `limit` bytes would come out, `inflateFailed` when it is not deflate, or
    /// the stream ends in it (W-95).
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

// One reader owns it and uses it from one place at a time.
extension InflateStream: @unchecked Sendable {}
