internal import CMartletCodec

/// A compressor for single bodies, in zlib format (RFC 1950).
///
/// The process shares a few working memories of about 0.7 MB each, and a compressor uses one for the duration of a
/// call. A compressor itself therefore occupies no memory.
package struct Deflater: Sendable {
    /// The maximum number of unused working memories that the process keeps.
    static let maxIdleCount = Int(MARTLET_MAX_IDLE_DEFLATERS)

    private let level: Int32
    private let codec: Codec

    /// Creates a compressor with a level from 1 (fastest) to 9 (smallest output).
    package init(level: Int = 6) {
        self.init(level: level, codec: .best)
    }

    init(level: Int, codec: Codec) {
        precondition((1...9).contains(level), "the level is not from 1 to 9")
        self.level = Int32(level)
        self.codec = codec
    }

    /// The number of working memories in the process.
    static var memoryCount: Int { martlet_deflater_count() }

    /// Returns the compressed body; nil if it is not smaller.
    package func compress(_ body: RawSpan) -> [UInt8]? {
        guard body.byteCount > 1 else { return nil }
        let handle = unsafe martlet_deflater_take(level, codec == .zlib)
        defer { unsafe martlet_deflater_give(handle) }
        let capacity = body.byteCount - 1
        let compressed = coded(body, capacity: capacity) { input, output, count in
            count = unsafe martlet_deflater_run(handle, input, body.byteCount, output, capacity)
        }
        return compressed.isEmpty ? nil : compressed
    }
}

/// The C library that performs the compression.
enum Codec: Sendable {
    /// libdeflate if it is available, otherwise zlib.
    case best
    /// Always zlib.
    case zlib
}

/// Returns the bytes that a C function writes for `input`. The function sets their number, at most `capacity`.
@safe
func coded(
    _ input: RawSpan, capacity: Int, _ run: (UnsafeRawPointer?, UnsafeMutablePointer<UInt8>, inout Int) -> Void
) -> [UInt8] {
    unsafe [UInt8](unsafeUninitializedCapacity: capacity) { output, count in
        unsafe input.withUnsafeBytes { unsafe run($0.baseAddress, output.baseAddress!, &count) }
    }
}

/// A compressor for a sequence of payloads, each with the previous ones as its context (Specs/wire.md §16).
@safe
package final class DeflateStream {
    /// The memory size of a stream. The reader does not need to know it.
    package enum Size: Sendable {
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
    package init(_ size: Size) {
        let (windowBits, memoryLevel): (Int32, Int32) = size == .small ? (12, 5) : (15, 8)
        unsafe handle = martlet_deflate_stream_create(windowBits, memoryLevel)
    }

    deinit {
        unsafe martlet_deflate_stream_destroy(handle)
    }

    /// Returns the next payload, deflated (W-92).
    package func deflate(_ payload: RawSpan) -> [UInt8] {
        let capacity = payload.byteCount + payload.byteCount / 64 + Self.slackByteCount
        return coded(payload, capacity: capacity) { input, output, count in
            count = unsafe martlet_deflate_stream_run(handle, input, payload.byteCount, output, capacity)
            precondition(count > 0, "a deflated payload has room")
        }
    }
}

// One writer owns the stream and accesses it from one executor at a time.
extension DeflateStream: @unchecked Sendable {}
