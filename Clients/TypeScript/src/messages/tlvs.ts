// Contents as lists of TLVs.

import { utf8, Writer } from '../wire/bytes.js'
import { Tag } from '../wire/registry.generated.js'
import { fieldsOf } from '../wire/tables.js'
import { checkStructure, maxContentTLVs } from '../wire/tlv.js'
import { encodeFields, parseFields } from '../wire/bodies.js'
import type { Fields } from '../wire/values.js'

/** Encodes TLVs one after the other; an integer has the width that is given. */
export function bytesOfTLVs(...tlvs: [number, Uint8Array | string | bigint][]): Uint8Array {
    const writer = new Writer()
    for (const [tag, value] of tlvs) {
        const bytes = typeof value === 'string' ? utf8(value) :
            typeof value === 'bigint' ? new Writer(8).u64(value).take() : value
        writer.u16(tag).u32(bytes.length).bytes(bytes)
    }
    return writer.take()
}

/** The content of a text (W-63). */
export const textContent = (text: string): Uint8Array => bytesOfTLVs([Tag.text, text])

/**
 * Parses fields of a content: `?` is optional, `*` repeats. Other tags are ignored.
 *
 * @throws WireError
 */
export function parseContent(content: Uint8Array, fields: string): Fields {
    return parseFields(fieldsOf(fields), content, checkStructure(content, undefined, maxContentTLVs))
}

/** Encodes fields of a content. */
export const encodeContent = (fields: string, values: Fields): Uint8Array => encodeFields(fieldsOf(fields), values)
