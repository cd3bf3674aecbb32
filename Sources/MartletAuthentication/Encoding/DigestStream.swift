import CMartletCrypto

/// SHA-256 (FIPS 180-4) of bytes that are added one after another. An object is used by one thread at a time.
///
/// `@unchecked Sendable`: the owner of the object serializes its calls.
@safe package final class DigestStream: @unchecked Sendable {
    private let stream: OpaquePointer

    /// A stream without bytes.
    package init() {
        unsafe stream = martlet_sha256_stream_create()
    }

    deinit {
        unsafe martlet_sha256_stream_free(stream)
    }

    /// Adds bytes.
    package func add(_ bytes: [UInt8]) {
        unsafe martlet_sha256_stream_add(stream, bytes, bytes.count)
    }

    /// The 32 bytes of the digest. The stream is not used thereafter.
    package func finish() -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: Int(martlet_sha256_byte_count))
        unsafe martlet_sha256_stream_finish(stream, &digest)
        return digest
    }
}
