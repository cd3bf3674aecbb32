// The registries as tables by number and by name (wire.md section 13).

import { tagRows, typeRows } from './registry.generated.js'

/** A row of the table of types, as generated. */
export type TypeRow = readonly [number, string, string, string, string, number, string]
/** A row of the table of tags, as generated. */
export type TagRow = readonly [number, string, string, number, number, number?, number?, string?, number?, string?]

/** A field of a type or a container. */
export interface Field {
    tag: TagInfo
    required: boolean
    repeats: boolean
}

/** A frame type of wire.md section 13.1. */
export interface TypeInfo {
    number: number
    name: string
    reliable: boolean
    fragments: boolean
    credited: boolean
    session: 'own' | '0' | 'any' | 'new'
    sender: 'both' | 'client' | 'server'
    form: number
    fields: Field[]
}

/** An integer of a record: its name, and its width in bytes. */
export interface Part {
    name: string
    width: number
}

/** A tag of wire.md section 13.2. */
export interface TagInfo {
    number: number
    name: string
    type: string
    least: number
    most: number
    repeats: number
    compact: number
    parts: Part[]
    ranges: number
    choices: number[]
}

const widths: Record<string, number> = { u8: 1, u16: 2, u32: 4, u64: 8 }

/** Returns the width of an integer type in bytes, or 0 if the type is not an integer. */
export const widthOf = (type: string): number => widths[type] ?? 0

export const tags = new Map<number, TagInfo>()
export const tagsByName = new Map<string, TagInfo>()
export const tagsByCompactCode = new Map<number, TagInfo>()

for (const [number, name, type, least, most, repeats, compact, parts, ranges, choices] of tagRows) {
    const info: TagInfo = {
        number, name, type, least, most, repeats: repeats ?? 1, compact: compact ?? 0, ranges: ranges ?? 0,
        parts: parts ? parts.split(', ').map((part) => {
            const [width = '', partName = ''] = part.split(' ')
            return { name: partName, width: widthOf(width) }
        }) : [],
        choices: choices ? choices.split(' ').map(Number) : [],
    }
    tags.set(number, info)
    tagsByName.set(name, info)
    if (info.compact !== 0) tagsByCompactCode.set(info.compact, info)
}

/** Parses a list of fields: `?` is optional, `*` repeats, `+` repeats at least once. */
export function fieldsOf(text: string): Field[] {
    return text === '' ? [] : text.split(' ').map((word) => {
        const mark = word.at(-1) ?? ''
        const info = tagsByName.get('?*+'.includes(mark) ? word.slice(0, -1) : word)
        if (info === undefined) throw new Error(`unknown tag ${word}`)
        return { tag: info, required: mark !== '?' && mark !== '*', repeats: mark === '*' || mark === '+' }
    })
}

export const types = new Map<number, TypeInfo>()
export const typesByForm = new Map<number, TypeInfo>()

for (const [number, name, marks, session, sender, form, fields] of typeRows) {
    const info: TypeInfo = {
        number, name, form, fields: fieldsOf(fields), reliable: marks.includes('r'), fragments: marks.includes('f'),
        credited: marks.includes('c'), session: session as TypeInfo['session'], sender: sender as TypeInfo['sender'],
    }
    types.set(number, info)
    if (form !== 0) typesByForm.set(form, info)
}
