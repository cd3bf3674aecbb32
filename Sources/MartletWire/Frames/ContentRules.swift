/// What the content of a message, a request or a response must look like: the value of a `content` container.
///
/// Fields that a version does not know are for the application that reads the content, critical ones too: a relay that
/// carries them need not understand them (W-29).
public enum ContentRules {
    /// The most TLVs in a content, nested ones counted. Less than a body may have, so that what a relay adds to a
    /// client's body never makes it one that receivers refuse.
    public static let maxTLVCount = TLVLimits.maxCount - 16

    /// Checks a content's structure and, for a kind whose fields are known here, the fields.
    ///
    /// - Throws: `WireError.malformedTLV`, `.tlvTooDeep` or `.tooManyTLVs`; for text, `.missingField`,
    ///   `.duplicateField`
    ///   or `.invalidValue` unless there is one `text` field of non-empty UTF-8.
    public static func check(_ content: RawSpan, of kind: ContentKind? = nil) throws(WireError) {
        var budget = maxTLVCount
        try TLVValidator.validate(content, depth: 1, budget: &budget)
        if kind == .text { _ = try textPlace(in: content) }
    }

    /// Where the one text of a content begins whose structure has been checked (W-63).
    static func textPlace(in content: RawSpan) throws(WireError) -> UInt32 {
        var place: UInt32 = 0
        var reader = TLVReader(content)
        while let field = try reader.next() {
            guard field.tag == .text else { continue }
            guard place == 0 else { throw .duplicateField(.text) }
            try field.checkText(minByteCount: 1)
            place = UInt32(truncatingIfNeeded: reader.offset &- field.value.byteCount)
        }
        if place == 0 { throw .missingField(.text) }
        return place
    }

    /// Whether a content that the program made itself keeps the rules.
    static func allow(_ content: [UInt8]?, of kind: ContentKind? = nil) -> Bool {
        guard let content else { return true }
        do {
            try check(content.rawBytes, of: kind)
            return true
        } catch {
            return false
        }
    }
}

extension TLVView {
    /// A copy of a content, checked but for its kind.
    func content() throws(WireError) -> [UInt8] {
        try ContentRules.check(value)
        return bytes()
    }
}
