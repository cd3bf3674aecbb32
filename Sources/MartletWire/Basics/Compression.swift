/// The compression of a frame's body (W-18).
public enum Compression: UInt8, Sendable {
    /// The body is not compressed.
    case none = 0
    /// Each body is compressed on its own, in zlib format (RFC 1950).
    case zlib = 1
    /// A number reserved for Deflate with a context shared by several bodies. Version 1.0 refuses it.
    case sharedDeflate = 2
}
