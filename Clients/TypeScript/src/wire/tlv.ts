// The structure of bodies (wire.md section 4).

import { u16At, u32At } from './bytes.js'
import { WireError } from './errors.js'
import { Tag } from './registry.generated.js'

/** A TLV of a body: its tag, and where its value is. */
export interface Tlv {
    tag: number
    /** The positions of the first byte of the value, and behind the last one. */
    start: number
    end: number
}

export const maxDepth = 8
export const maxTLVs = 1_024
export const maxContentTLVs = 1_008

/** Whether the value of a tag is a sequence of TLVs (W-26). */
export const isContainer = (tag: number): boolean => (tag & 0x7f00) === 0x0100

/** Returns the TLVs of one level, which must fill the range (W-24). */
export function readTLVs(bytes: Uint8Array, from = 0, to = bytes.length): Tlv[] {
    const result: Tlv[] = []
    for (let at = from; at < to;) {
        if (at + 6 > to) throw new WireError('malformedTLV')
        const length = u32At(bytes, at + 2)
        if (length > to - at - 6) throw new WireError('malformedTLV')
        result.push({ tag: u16At(bytes, at), start: at + 6, end: at + 6 + length })
        at += 6 + length
    }
    return result
}

/**
 * Checks the structure of a whole body without recursion, and returns its outermost TLVs (W-24, W-27).
 *
 * @param contentLimit the most TLVs inside an outermost `content`
 * @param limit the most TLVs of the body
 */
export function checkStructure(bytes: Uint8Array, contentLimit = maxTLVs, limit = maxTLVs): Tlv[] {
    const ends: number[] = [bytes.length]
    const result: Tlv[] = []
    let count = 0
    let contentEnd = -1
    let contentCount = 0
    for (let at = 0; ;) {
        while (at === ends.at(-1)) {
            ends.pop()
            if (ends.length === 0) return result
        }
        const end = ends.at(-1)!
        if (at + 6 > end) throw new WireError('malformedTLV')
        const length = u32At(bytes, at + 2)
        if (length > end - at - 6) throw new WireError('malformedTLV')
        if (++count > limit) throw new WireError('tooManyTLVs')
        if (at < contentEnd && ++contentCount > contentLimit) throw new WireError('tooManyTLVs')
        const tlv: Tlv = { tag: u16At(bytes, at), start: at + 6, end: at + 6 + length }
        if (ends.length === 1) {
            result.push(tlv)
            if (tlv.tag === Tag.content) {
                contentEnd = tlv.end
                contentCount = 0
            }
        }
        at = isContainer(tlv.tag) ? tlv.start : tlv.end
        if (isContainer(tlv.tag)) {
            if (ends.length > maxDepth) throw new WireError('tlvTooDeep')
            ends.push(tlv.end)
        }
    }
}
