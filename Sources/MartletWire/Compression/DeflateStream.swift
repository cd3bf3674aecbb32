internal import CMartletCodec

/// A compressor for a sequence of payloads, each with the previous ones as its context (Specs/wire.md §16).
@safe
public final class DeflateStream {
    /// The memory size of a stream. The reader does not need to know it.
    public enum Size: Sendable {
        /// A window of 4 KiB, with 39 KiB of memory.
        case small
        /// A window of 32 KiB, with 268 KiB of memory and about 15 % fewer bytes of output.
        case large
    }

    /// The maximum number of bytes that a flush adds, beside five for each block; the four bytes that are removed
    /// afterwards included.
    private static let slackByteCount = 64
    private let handle: OpaquePointer

    /// Creates a stream that begins with the preset dictionary (W-93).
    public init(_ size: Size) {
        let (windowBits, memoryLevel): (Int32, Int32) = size == .small ? (12, 5) : (15, 8)
        unsafe handle = martlet_deflate_stream_create(windowBits, memoryLevel)
    }

    deinit {
        unsafe martlet_deflate_stream_destroy(handle)
    }

    /// Returns the next payload, deflated (W-92).
    public func deflate(_ payload: RawSpan) -> [UInt8] {
        let capacity = payload.byteCount + payload.byteCount / 64 + Self.slackByteCount
        return coded(payload, capacity: capacity) { input, output, count in
            count = unsafe martlet_deflate_stream_run(handle, input, payload.byteCount, output, capacity)
            precondition(count > 0, "a deflated payload has room")
        }
    }
}

// One writer owns the stream and accesses it from one executor at a time.
extension DeflateStream: @unchecked Sendable {}
