/// The rules for the content of a message, a request or a response: the value of a `content` container.
///
/// Fields that this version does not know, critical ones included, belong to the application that reads the content. A
/// relay forwards them (W-29).
package enum ContentRules {
    /// The maximum number of TLVs in a content, nested ones included. The bound is lower than that of a body, so the
    /// body remains valid when a relay adds its fields.
    package static let maxTLVCount = TLVLimits.maxCount - 16

    /// Verifies the structure of a content and, for a known kind, its fields.
    ///
    /// - Throws: `WireError.malformedTLV`, `.tlvTooDeep` or `.tooManyTLVs`; for text `.missingField`, `.duplicateField`
    ///   or `.invalidValue` unless there is exactly one `text` field, with non-empty UTF-8.
    package static func check(_ content: RawSpan, of kind: ContentKind? = nil) throws(WireError) {
        var budget = maxTLVCount
        try TLVValidator.validate(content, depth: 1, budget: &budget)
        if kind == .text { _ = try textOffset(in: content) }
    }

    /// Verifies the number of TLVs of each `content` in a body whose structure was verified, before any field is
    /// (W-8, W-27).
    ///
    /// - Parameter budget: What the verification has left of the maximum for the body.
    static func checkCounts(in body: RawSpan, budget: Int) throws(WireError) {
        // The number of TLVs in a content cannot exceed that in the body.
        guard budget < TLVLimits.maxCount - maxTLVCount else { return }
        var reader = TLVReader(body)
        while let field = try reader.next() {
            if field.tag == .content { try check(field.value) }
        }
    }

    /// Returns the offset of the text in a content whose structure has been verified (W-63).
    static func textOffset(in content: RawSpan) throws(WireError) -> UInt32 {
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

    /// Returns whether a content of the application satisfies the rules; true if there is none.
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
    /// Returns a copy of the content after verification of its structure.
    func content() throws(WireError) -> [UInt8] {
        try ContentRules.check(value)
        return bytes()
    }
}
