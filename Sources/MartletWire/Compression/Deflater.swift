internal import CMartletCodec

/// Compresses bodies, each by itself, into zlib format (RFC 1950).
///
/// It costs nothing to have one: the working memory, two thirds of a megabyte, is taken for one body at a time from a
/// few that the process keeps. A client each with its own would be mostly that.
public struct Deflater: Sendable {
    /// Working memories that the process keeps while none is used.
    static let maxIdleCount = Int(MARTLET_MAX_IDLE_DEFLATERS)

    private let level: Int32
    private let codec: Codec

    /// A compressor of a level from 1, fast, to 9, small.
    public init(level: Int = 6) {
        self.init(level: level, codec: .best)
    }

    init(level: Int, codec: Codec) {
        precondition((1...9).contains(level), "the level is not from 1 to 9")
        self.level = Int32(level)
        self.codec = codec
    }

    /// Working memories that there are in the process.
    static var memoryCount: Int { martlet_deflater_count() }

    /// The compressed body, nil when that is not smaller.
    public func compress(_ body: RawSpan) -> [UInt8]? {
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

/// Which C library does the work.
enum Codec: Sendable {
    /// libdeflate where there is one, else zlib.
    case best
    /// zlib in any case.
    case zlib
}

/// The bytes that a function in C writes for `input`; it sets their number, at most `capacity`.
@safe
func coded(
    _ input: RawSpan, capacity: Int, _ run: (UnsafeRawPointer?, UnsafeMutablePointer<UInt8>, inout Int) -> Void
) -> [UInt8] {
    unsafe [UInt8](unsafeUninitializedCapacity: capacity) { output, count in
        unsafe input.withUnsafeBytes { unsafe run($0.baseAddress, output.baseAddress!, &count) }
    }
}
