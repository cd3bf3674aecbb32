extension String {
    /// Calls `body` with the text's UTF-8.
    @inline(__always)
    func withUTF8Bytes<Result>(_ body: (RawSpan) -> Result) -> Result {
        if #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) {
            // In place; the other way counts references.
            return unsafe body(utf8.span.bytes)
        }
        var copy = self
        return copy.withUTF8 { unsafe body(RawSpan(_unsafeElements: $0)) }
    }

    /// Whether both are the same bytes, where `==` asks whether they are the same to a reader.
    func hasSameUTF8(as other: String) -> Bool {
        other.withUTF8Bytes { hasUTF8($0) }
    }

    /// Whether these are its bytes.
    @inline(__always)
    func hasUTF8(_ bytes: RawSpan) -> Bool {
        withUTF8Bytes { $0.hasSameBytes(as: bytes) }
    }

    /// Text whose UTF-8 has been checked before.
    init(validated bytes: RawSpan) {
        self = unsafe bytes.withUnsafeBytes { unsafe String(decoding: $0, as: UTF8.self) }
    }
}
