// Values of tags: parsing and encoding (wire.md sections 4.5 and 13.2).

import { textOf, u16At, u32At, u64At, utf8, Writer } from './bytes.js'
import { WireError } from './errors.js'
import { isName } from './names.js'
import type { TagInfo } from './tables.js'
import { widthOf } from './tables.js'

/** The value of a field: an integer, a text, bytes, or a record or container of such values. */
export type Value = number | bigint | string | Uint8Array | Fields | Value[] | [bigint, bigint][]
export interface Fields {
    [name: string]: Value
}

const invalid = (): never => {
    throw new WireError('invalidValue')
}

function integerAt(bytes: Uint8Array, at: number, width: number): number | bigint {
    return width === 8 ? u64At(bytes, at) : width === 4 ? u32At(bytes, at) : width === 2 ? u16At(bytes, at) : bytes[at]!
}

/** Parses the value of a tag that is not a container (W-30). */
export function parseValue(info: TagInfo, bytes: Uint8Array): Value {
    const width = widthOf(info.type)
    if (width !== 0) {
        if (bytes.length !== width) invalid()
        const value = integerAt(bytes, 0, width)
        const isChoice = info.choices.length === 0 || info.choices.includes(Number(value))
        if (value < info.least || (info.most >= 0 && value > info.most) || !isChoice) invalid()
        return value
    }
    if (info.type === 'integers') return parseRecord(info, bytes)
    if (bytes.length < info.least || (info.most >= 0 && bytes.length > info.most)) invalid()
    if (info.type === 'bytes' || info.type === 'container') return bytes.slice()
    const text = textOf(bytes)
    if (text === undefined || (info.type === 'name' && !isName(text))) return invalid()
    return text
}

function parseRecord(info: TagInfo, bytes: Uint8Array): Fields {
    const record: Fields = {}
    let at = 0
    for (const part of info.parts) {
        if (at + part.width > bytes.length) invalid()
        record[part.name] = integerAt(bytes, at, part.width)
        at += part.width
    }
    const rest = bytes.length - at
    if (rest % 16 !== 0 || rest / 16 > info.ranges) invalid()
    if (info.ranges > 0) {
        const ranges: [bigint, bigint][] = []
        for (; at < bytes.length; at += 16) ranges.push([u64At(bytes, at), u64At(bytes, at + 8)])
        record['ranges'] = ranges
    }
    return record
}

/** Encodes the value of a tag that is not one of the containers limits and resume. */
export function encodeValue(info: TagInfo, value: Value, writer: Writer): void {
    const width = widthOf(info.type)
    if (width !== 0) {
        writer.integer(value as number | bigint, width)
    } else if (info.type === 'integers') {
        const record = value as Fields
        for (const part of info.parts) writer.integer(record[part.name] as number | bigint, part.width)
        for (const [first, last] of (record['ranges'] ?? []) as [bigint, bigint][]) writer.u64(first).u64(last)
    } else {
        writer.bytes(typeof value === 'string' ? utf8(value) : value as Uint8Array)
    }
}
