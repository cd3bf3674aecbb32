/// Bounds of text that is shown to people and decides nothing.
enum FreeText {
    /// The maximum number of bytes of UTF-8 in a reason, which a client shows in its status.
    static let maxReasonByteCount = 256
    /// The maximum number of bytes of UTF-8 in the name of an agent.
    static let maxAgentByteCount = 128
}

extension String {
    /// Returns the longest prefix of whole Unicode scalars with at most `limit` bytes of UTF-8.
    ///
    /// A reason is truncated instead of refused, so that the frame can be sent.
    func clipped(toByteCount limit: Int) -> String {
        guard utf8.count > limit else { return self }
        var end = utf8.index(startIndex, offsetBy: limit)
        while utf8[end] & 0xC0 == 0x80 { utf8.formIndex(before: &end) }
        return String(self[..<end])
    }
}

extension TLVView {
    func reason() throws(WireError) -> String {
        try string(maxByteCount: FreeText.maxReasonByteCount)
    }
}
