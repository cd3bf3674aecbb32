/// Checks the structure of a whole body, containers included, before anything of it is believed.
///
/// One loop over the bytes; the ends of the open containers lie on a stack of fixed size, so that no input, however
/// deep it nests, costs more than that (W-27).
public enum TLVValidator {
    /// Checks a whole body.
    ///
    /// Throws `malformedTLV` at the offset of the field that does not fit, `tlvTooDeep`, or `tooManyTLVs` (W-24,
    /// Specs/hostile.md row 11, Specs/hostile.md row 12, Specs/hostile.md row 13).
    public static func validate(_ body: RawSpan) throws(WireError) {
        var budget = TLVLimits.maxCount
        try validate(body, depth: 0, budget: &budget)
    }

    /// Checks TLVs that lie inside `depth` containers already, and takes their number from `budget`.
    ///
    /// Throws as `validate(_:)` does; offsets count from the start of `bytes`.
    public static func validate(_ bytes: RawSpan, depth: Int, budget: inout Int) throws(WireError) {
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
