import MartletWire

/// What carriers do: they ask an engine for bytes.
enum Carrying {
    /// Bytes that an engine is asked for at a time: room for the largest frame there is by default, and little enough
    /// that no pages are mapped for it.
    private static let byteCount = FrameHeader.byteCount + 64 * 1024

    /// One helping of what an engine has to send.
    static func transmit(_ write: (inout OutputRawSpan) -> Void) -> [UInt8] {
        unsafe [UInt8](unsafeUninitializedCapacity: byteCount) { buffer, count in
            var out = unsafe OutputRawSpan(buffer: UnsafeMutableRawBufferPointer(buffer), initializedCount: 0)
            write(&out)
            count = unsafe out.finalize(for: UnsafeMutableRawBufferPointer(buffer))
        }
    }
}
