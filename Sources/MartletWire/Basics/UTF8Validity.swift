extension RawSpan {
    /// Whether the bytes are well-formed UTF-8 (Unicode 16, table 3-7). The check allocates nothing.
    ///
    /// `UTF8Span` of the standard library is not available on the oldest supported systems.
    package var isValidUTF8: Bool {
        if #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) {
            return (try? UTF8Span(validating: Span(_bytes: self))) != nil
        }
        return unsafe withUnsafeBytes { unsafe String(validating: $0, as: UTF8.self) } != nil
    }

    /// Whether all bytes are ASCII.
    @inline(__always)
    var isASCII: Bool {
        unsafe withUnsafeBytes { unsafe $0.reduce(0, |) } < 0x80
    }

    /// Whether there are bytes, and all are ASCII, without blanks and control characters.
    var isVisibleASCII: Bool {
        for offset in 0..<byteCount where !(0x21...0x7E).contains(loadUInt8(at: offset)) { return false }
        return !isEmpty
    }
}

extension String {
    /// Calls `body` with the UTF-8 of the string.
    @inline(__always)
    func withUTF8Bytes<Result>(_ body: (RawSpan) -> Result) -> Result {
        if #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) {
            // The span accesses the bytes in place. The copy below needs reference counting.
            return unsafe body(utf8.span.bytes)
        }
        var copy = self
        return copy.withUTF8 { unsafe body(RawSpan(_unsafeElements: $0)) }
    }

    /// Returns whether the UTF-8 of both strings is the same. The operator `==` compares canonical equivalence instead.
    func hasSameUTF8(as other: String) -> Bool {
        other.withUTF8Bytes { hasUTF8($0) }
    }

    /// Returns whether the UTF-8 of the string equals `bytes`.
    @inline(__always)
    package func hasUTF8(_ bytes: RawSpan) -> Bool {
        withUTF8Bytes { $0.hasSameBytes(as: bytes) }
    }

    /// Creates a string from bytes that have been verified to be well-formed UTF-8.
    init(validated bytes: RawSpan) {
        self = unsafe bytes.withUnsafeBytes { unsafe String(decoding: $0, as: UTF8.self) }
    }
}
