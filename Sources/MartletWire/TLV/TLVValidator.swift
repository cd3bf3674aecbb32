/// Verifies the structure of a complete body, containers included, before any value is read.
///
/// The validator is one loop over the bytes. The ends of the open containers are kept on a stack of fixed size, so the
/// memory is bounded for any depth of nesting (W-27).
package enum TLVValidator {
    /// Verifies a complete body.
    ///
    /// - Throws: `malformedTLV` with the offset of the invalid field, `tlvTooDeep`, or `tooManyTLVs` (W-24,
    ///   Specs/hostile.md row 11, Specs/hostile.md row 12, Specs/hostile.md row 13).
    package static func validate(_ body: RawSpan) throws(WireError) {
        var budget = TLVLimits.maxCount
        try validate(body, depth: 0, budget: &budget)
    }

    /// Verifies TLVs that are nested in `depth` containers, and subtracts their number from `budget`.
    ///
    /// - Throws: The errors of `validate(_:)`, with offsets from the start of `bytes`.
    package static func validate(_ bytes: RawSpan, depth: Int, budget: inout Int) throws(WireError) {
        var enclosingEnds = SIMD8<Int>()
        var open = 0
        var end = bytes.byteCount
        var offset = 0
        while true {
            while offset == end {
                if open == 0 { return }
                open -= 1
                end = enclosingEnds[open]
            }
            guard end - offset >= TLVLimits.headByteCount else { throw .malformedTLV(offset: offset) }
            let tag = Tag(rawValue: bytes.loadUInt16(at: offset))
            let length = bytes.loadUInt32(at: offset + 2)
            guard Int64(length) <= Int64(end - offset - TLVLimits.headByteCount) else {
                throw .malformedTLV(offset: offset)
            }
            guard budget > 0 else { throw .tooManyTLVs(limit: TLVLimits.maxCount) }
            budget -= 1
            offset += TLVLimits.headByteCount
            if tag.isContainer {
                guard depth + open < TLVLimits.maxDepth else { throw .tlvTooDeep(limit: TLVLimits.maxDepth) }
                enclosingEnds[open] = end
                open += 1
                end = offset + Int(length)
            } else {
                offset += Int(length)
            }
        }
    }
}
