/// How a frame's body is compressed.
public enum Compression: UInt8, Sendable {
    /// Not at all.
    case none = 0
    /// Each body by itself, in zlib format (RFC 1950).
    case zlib = 1
    /// Deflate with the link's shared context; version 1.0 refuses it.
    case sharedDeflate = 2
}
