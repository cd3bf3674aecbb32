// Contents of messages between applications (messages.md sections 1, 3 and 5).

import { u64At, utf8 } from '../wire/bytes.js'
import { type CodeName, WireError } from '../wire/errors.js'
import { isName, refusedInLines } from '../wire/names.js'
import { Kind, Tag } from '../wire/registry.generated.js'
import { fieldsOf, type Field, tags } from '../wire/tables.js'
import { checkStructure, maxContentTLVs, readTLVs, type Tlv } from '../wire/tlv.js'
import { type Fields, parseValue } from '../wire/values.js'
import { parseFields } from '../wire/bodies.js'

/** The identity of a message (M-2). */
export interface Target {
    sender: string
    device: bigint
    counter: bigint
    /** 0 if it is unknown. It MUST NOT identify the message. */
    offset: bigint
}

/** A value of an application (M-14). */
export type AppValue = null | boolean | bigint | number | string | Uint8Array | AppValue[] | Map<string, AppValue>

/** The fields of a content by their names in wire.md section 13.2; `value` of a command. */
export interface Content {
    target?: Target
    text?: string
    reaction?: string
    removed?: boolean
    event?: string
    byteCount?: bigint
    location?: string
    data?: Uint8Array
    name?: string
    mediaType?: string
    digest?: Uint8Array
    thumbnail?: Uint8Array
    card?: string
    cardStatus?: string
    details?: [string, string][]
    statusTime?: bigint
    url?: string
    value?: AppValue
}

const fieldsOfKind: Record<number, Field[]> = {
    [Kind.text]: fieldsOf('text'),
    [Kind.edit]: fieldsOf('target text'),
    [Kind.delete_]: fieldsOf('target'),
    [Kind.reaction]: fieldsOf('target reaction removed?'),
    [Kind.reply]: fieldsOf('target text'),
    [Kind.system]: fieldsOf('event text?'),
    [Kind.attachment]: fieldsOf('byteCount location? data? name? mediaType? digest? text? thumbnail?'),
    [Kind.card]: fieldsOf('card text cardStatus detail* statusTime? url?'),
}
const detailFields = fieldsOf('key text')
const statuses = ['unknown', 'ok', 'running', 'warning', 'failed', 'removed']
const urlPattern = /^https?:\/\/[^/?#@]+([/?#].*)?$/
const refusedInUrls = /[^\u0021-\u007e]|["<>\\^`{|}]/

const fail = (code: CodeName): never => {
    throw new WireError(code, 'message')
}

/**
 * Parses the content of a message.
 *
 * @returns undefined for a kind without a form
 * @throws WireError for a damaged content (M-1)
 */
export function parseMessage(kind: number, content: Uint8Array): Content | undefined {
    const fields = fieldsOfKind[kind]
    if (fields === undefined && kind !== Kind.command) return undefined
    const tlvs = checkStructure(content, maxContentTLVs, maxContentTLVs)
    // A content is itself the first of the nested containers (M-17).
    if (depthOf(content, tlvs) > 7) fail('tlvTooDeep')
    if (fields === undefined) return { value: parseCommand(content, tlvs) }
    if (tlvs.some(({ tag }) => tag & 0x8000)) fail('unknownCritical')
    const values = parseFields(fields, content, tlvs)
    if (values['text'] === '') fail('invalidValue')
    const result = { ...values } as Fields & Content
    if (values['target'] !== undefined) result.target = parseTarget(values['target'] as Uint8Array) as Target & Fields
    if (values['removed'] !== undefined) result.removed = (values['removed'] === 1) as never
    if (kind === Kind.attachment) checkAttachment(result)
    return kind === Kind.card ? parseCard(result, values) : result
}

function depthOf(content: Uint8Array, tlvs: Tlv[]): number {
    let depth = 0
    let level = tlvs
    while (level.some(({ tag }) => (tag & 0x7f00) === 0x100)) {
        depth++
        level = level.filter(({ tag }) => (tag & 0x7f00) === 0x100)
            .flatMap(({ start, end }) => readTLVs(content, start, end))
    }
    return depth
}

/** The reference to a message (M-2). */
export function parseTarget(bytes: Uint8Array): Target {
    const sender = parseValue({ ...tags.get(Tag.sender)! }, bytes.subarray(24)) as string
    const target = { device: u64At(bytes, 0), counter: u64At(bytes, 8), offset: u64At(bytes, 16), sender }
    if (target.counter === 0n || !isName(sender)) fail('invalidValue')
    return target
}

function checkAttachment({ data, location, byteCount, digest }: Content): void {
    if (data === undefined && location === undefined) fail('missingField')
    if (data !== undefined && (location !== undefined || BigInt(data.length) !== byteCount)) fail('invalidValue')
    if (location === 'martlet:attachment' && digest === undefined) fail('missingField')
}

/** A status card (M-39 to M-42). */
function parseCard(card: Content, values: Fields): Content {
    const details = (values['detail'] as Uint8Array[]).map((bytes): [string, string] => {
        const tlvs = readTLVs(bytes)
        if (tlvs.some(({ tag }) => tag & 0x8000)) fail('unknownCritical')
        const { key, text } = parseFields(detailFields, bytes, tlvs) as Record<string, string>
        checkLine(key!, 64)
        checkLine(text!, 256, 0)
        return [key!, text!]
    })
    checkLine(card.text!, 256)
    const { url } = card
    if (url !== undefined && (!urlPattern.test(url) || refusedInUrls.test(url))) fail('invalidValue')
    const { detail: _, ...rest } = card as Fields & Content
    const cardStatus = statuses[values['cardStatus'] as number] ?? 'unknown'
    return { ...rest, cardStatus, ...(details.length > 0 ? { details } : {}) } as Content
}

/** A line has so many bytes and no control characters (M-40). */
function checkLine(text: string, most: number, least = 1): void {
    const { length } = utf8(text)
    if (length < least || length > most || refusedInLines.test(text)) fail('invalidValue')
}

/** A content with one value and nothing else (M-14). */
function parseCommand(content: Uint8Array, tlvs: Tlv[]): AppValue {
    const [only] = tlvs
    if (only === undefined) return fail('missingField')
    if (tlvs.length > 1) fail('duplicateField')
    return parseAppValue(content, only)
}

function parseAppValue(content: Uint8Array, tlv: Tlv): AppValue {
    const bytes = content.subarray(tlv.start, tlv.end)
    const info = tags.get(tlv.tag)
    switch (tlv.tag) {
        case Tag.null: parseValue(info!, bytes); return null
        case Tag.bool: return parseValue(info!, bytes) === 1
        case Tag.integer: return BigInt.asIntN(64, parseValue(info!, bytes) as bigint)
        case Tag.unsigned: {
            const value = parseValue(info!, bytes) as bigint
            return value < 1n << 63n ? fail('invalidValue') : value
        }
        case Tag.double: {
            const value = parseValue(info!, bytes) as Uint8Array
            return new DataView(value.buffer).getFloat64(0)
        }
        case Tag.text: return parseValue(info!, bytes) as string
        case Tag.data: return bytes.slice()
        case Tag.array: return readTLVs(content, tlv.start, tlv.end).map((each) => parseAppValue(content, each))
        case Tag.object: return parseObject(content, tlv)
        default: return fail(tlv.tag & 0x8000 ? 'unknownCritical' : 'invalidValue')
    }
}

/** Members with ascending keys (M-15). */
function parseObject(content: Uint8Array, tlv: Tlv): Map<string, AppValue> {
    const members = readTLVs(content, tlv.start, tlv.end)
    const result = new Map<string, AppValue>()
    let last: Uint8Array | undefined
    for (let index = 0; index < members.length; index += 2) {
        const [key, value] = [members[index]!, members[index + 1]]
        if (key.tag !== Tag.key || value === undefined || value.tag === Tag.key) return fail('missingField')
        const bytes = content.subarray(key.start, key.end)
        const name = parseValue(tags.get(Tag.key)!, bytes) as string
        const order = last === undefined ? 1 : compare(bytes, last)
        if (order <= 0) fail(order === 0 ? 'duplicateField' : 'invalidValue')
        last = bytes
        result.set(name, parseAppValue(content, value))
    }
    return result
}

function compare(a: Uint8Array, b: Uint8Array): number {
    for (let index = 0; index < Math.min(a.length, b.length); index++) {
        if (a[index] !== b[index]) return a[index]! - b[index]!
    }
    return a.length - b.length
}
