/// Bounds of text that is meant for people and carries no decision.
enum FreeText {
    /// Bytes of UTF-8 in a reason.
    static let maxReasonByteCount = 256
    /// Bytes of UTF-8 in an agent's name.
    static let maxAgentByteCount = 128
}

extension String {
    /// The longest beginning of whole Unicode scalars within `limit` bytes of UTF-8.
    ///
    /// An explanation is cut rather than refused: losing its tail is better than losing the frame that carries it.
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
