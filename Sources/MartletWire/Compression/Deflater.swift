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
        let compressed = unsafe [UInt8](unsafeUninitializedCapacity: body.byteCount - 1) { output, count in
            unsafe body.withUnsafeBytes { input in
                count = unsafe martlet_deflater_run(
                    handle, input.baseAddress, input.count, output.baseAddress, body.byteCount - 1)
            }
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
