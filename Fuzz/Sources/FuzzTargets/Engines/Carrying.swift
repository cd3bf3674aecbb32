import MartletWire

/// The carrier's role: asks an engine for bytes.
enum Carrying {
    /// The buffer size in bytes: the largest default frame, and small enough that no pages are mapped for it.
    private static let byteCount = FrameHeader.byteCount + 64 * 1024

    /// The bytes of one call of an engine.
    static func transmit(_ write: (inout OutputRawSpan) -> Void) -> [UInt8] {
        unsafe [UInt8](unsafeUninitializedCapacity: byteCount) { buffer, count in
            var out = unsafe OutputRawSpan(buffer: UnsafeMutableRawBufferPointer(buffer), initializedCount: 0)
            write(&out)
            count = unsafe out.finalize(for: UnsafeMutableRawBufferPointer(buffer))
        }
    }
}
