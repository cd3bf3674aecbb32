internal import CMartletCodec

/// Deflates one payload after the other, each with what came before as its context (Specs/wire.md §16).
@safe
public final class DeflateStream {
    /// What a stream may cost in memory; the reader need not know.
    public enum Size: Sendable {
        /// A window of 4 KiB: 39 KiB of memory.
        case small
        /// A window of 32 KiB: 268 KiB of memory, and some 15 % fewer bytes.
        case large
    }

    /// What a flush adds at the most, with the four bytes that are left out afterwards, beside five for each block.
    private static let slackByteCount = 64
    private let handle: OpaquePointer

    /// A stream that begins with the preset dictionary (W-93).
    public init(_ size: Size) {
        let (windowBits, memoryLevel): (Int32, Int32) = size == .small ? (12, 5) : (15, 8)
        unsafe handle = martlet_deflate_stream_create(windowBits, memoryLevel)
    }

    deinit {
        unsafe martlet_deflate_stream_destroy(handle)
    }

    /// The next payload, deflated (W-92).
    public func deflate(_ payload: RawSpan) -> [UInt8] {
        let capacity = payload.byteCount + payload.byteCount / 64 + Self.slackByteCount
        return coded(payload, capacity: capacity) { input, output, count in
            count = unsafe martlet_deflate_stream_run(handle, input, payload.byteCount, output, capacity)
            precondition(count > 0, "a deflated payload has room")
        }
    }
}

// One writer owns it and uses it from one place at a time.
extension DeflateStream: @unchecked Sendable {}
