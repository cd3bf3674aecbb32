internal import CMartletCodec

/// Compresses bodies, each by itself, into zlib format (RFC 1950).
///
/// Holds some 100 to 300 KiB of working memory and is meant to serve a whole loop, not one connection.
@safe
public struct Deflater: ~Copyable {
    private let handle: OpaquePointer

    /// A compressor of a level from 1, fast, to 9, small.
    public init(level: Int = 6) {
        self.init(level: level, codec: .best)
    }

    init(level: Int, codec: Codec) {
        precondition((1...9).contains(level), "the level is not from 1 to 9")
        unsafe handle = martlet_deflater_create(Int32(level), codec == .zlib)
    }

    deinit {
        unsafe martlet_deflater_destroy(handle)
    }

    /// The compressed body, nil when that is not smaller.
    public mutating func compress(_ body: RawSpan) -> [UInt8]? {
        guard body.byteCount > 1 else { return nil }
        let compressed = unsafe [UInt8](unsafeUninitializedCapacity: body.byteCount - 1) { output, count in
            unsafe body.withUnsafeBytes { input in
                count = unsafe martlet_deflater_run(
                    handle, input.baseAddress, input.count, output.baseAddress, body.byteCount - 1)
            }
        }
        return compressed.isEmpty ? nil : compressed
    }
}

// The working memory is owned by one value that cannot be copied.
extension Deflater: @unchecked Sendable {}

/// Which C library does the work.
enum Codec {
    /// libdeflate where there is one, else zlib.
    case best
    /// zlib in any case.
    case zlib
}
