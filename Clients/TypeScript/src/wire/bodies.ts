// Bodies of frames: fields by the tables of wire.md section 13, and the rules between them.

import { u64At, Writer } from './bytes.js'
import { type CodeName, type Scope, WireError } from './errors.js'
import {
    type AcceptedRun, type AckBody, containerFields, Kind, Membership, ReceiptKind, Tag, Type,
} from './registry.generated.js'
import { type Field, fieldsOf, tags, type TypeInfo } from './tables.js'
import { checkStructure, maxContentTLVs, maxTLVs, readTLVs, type Tlv } from './tlv.js'
import { encodeValue, type Fields, parseValue, type Value } from './values.js'

const limitsFields = fieldsOf(containerFields.limits)
const resumeOfHello = fieldsOf(containerFields.resumeOfHello)
const resumeOfWelcome = fieldsOf(containerFields.resumeOfWelcome)

/** Which endpoint has sent a body. */
export type Sender = 'client' | 'server'

const error = (code: CodeName): WireError => new WireError(code)

/**
 * Parses the body of a frame that is not a fragment: structure, fields, critical tags (W-8, steps 10 and 11).
 *
 * @throws WireError, whose scope follows W-72
 */
export function parseBody(type: TypeInfo, body: Uint8Array, from: Sender): Fields {
    const hasContent = type.fields.some((field) => field.tag.number === Tag.content)
    const isOfClient = type.number === Type.data && from === 'client'
    const tlvs = checkStructure(body, hasContent ? maxContentTLVs : maxTLVs, isOfClient ? maxTLVs - 4 : maxTLVs)
    if (tlvs.some(({ tag }) => tag & 0x8000)) throw error('unknownCritical')
    try {
        const fields = parseFields(type.fields, body, tlvs, type.number)
        checkRules(type.number, fields, from)
        return fields
    } catch (failure) {
        const { code } = failure as WireError
        const isOfField = code === 'invalidValue' || code === 'missingField' || code === 'duplicateField'
        if (type.number === Type.hello && isOfField) throw error('invalidHello')
        throw new WireError(code, isOfField ? scopeOf(type.number, body, tlvs, from) : 'connection')
    }
}

/** What an invalid field ends (W-72). A message of a relay is a gap in any case. */
function scopeOf(type: number, body: Uint8Array, tlvs: Tlv[], from: Sender): Scope {
    if (type === Type.data) return from === 'server' || firstU64(body, tlvs, Tag.counter) ? 'message' : 'session'
    if (type === Type.request) return firstU64(body, tlvs, Tag.correlation) === undefined ? 'connection' : 'request'
    return 'connection'
}

/** The first readable integer of 64 bits with a tag. */
export function firstU64(body: Uint8Array, tlvs: Tlv[], tag: number): bigint | undefined {
    const tlv = tlvs.find((each) => each.tag === tag)
    return tlv !== undefined && tlv.end - tlv.start === 8 ? u64At(body, tlv.start) : undefined
}

/** Parses fields of a body or a container. TLVs without a field here are ignored (W-28). */
export function parseFields(fields: Field[], body: Uint8Array, tlvs: Tlv[], type = 0): Fields {
    const result: Fields = {}
    const missing = new Set(fields.filter((field) => field.required).map((field) => field.tag.name))
    for (const field of fields) if (field.repeats) result[field.tag.name] = []
    for (const tlv of tlvs) {
        const field = fields.find((each) => each.tag.number === tlv.tag)
        if (field === undefined) continue
        const { name } = field.tag
        const list = field.repeats ? result[name] as Value[] : undefined
        if (list === undefined && name in result) throw error('duplicateField')
        if (list !== undefined && list.length >= field.tag.repeats) throw error('tooManyTLVs')
        const value = tlv.tag === Tag.limits || tlv.tag === Tag.resume ? parseContainer(tlv, body, type) :
            parseValue(field.tag, body.subarray(tlv.start, tlv.end))
        if (list === undefined) result[name] = value
        else list.push(value)
        missing.delete(name)
    }
    if (missing.size > 0) throw error('missingField')
    return result
}

function parseContainer(tlv: Tlv, body: Uint8Array, type: number): Fields {
    const inner = readTLVs(body, tlv.start, tlv.end)
    if (inner.some(({ tag }) => tag & 0x8000)) throw error('unknownCritical')
    const fields = tlv.tag === Tag.limits ? limitsFields : type === Type.hello ? resumeOfHello : resumeOfWelcome
    const result = parseFields(fields, body, inner)
    const positions = (result['sessionPosition'] ?? []) as Fields[]
    if (new Set(positions.map((each) => each['session'])).size < positions.length) throw error('duplicateField')
    return result
}

const relayFields = ['offset', 'acceptedAt', 'device', 'sender']
const lastU64 = 2n ** 64n - 1n

/** The rules between fields of a body that its table does not state. */
function checkRules(type: number, fields: Fields, from: Sender): void {
    switch (type) {
        case Type.data: {
            const count = relayFields.filter((name) => name in fields).length
            if (count !== (from === 'server' ? 4 : 0)) throw error('invalidValue')
            checkContent(fields)
            break
        }
        case Type.transient: checkTransient(fields); break
        case Type.ack: checkAck(fields as unknown as AckBody); break
        case Type.receipt: checkReceipt(fields); break
        case Type.accepted:
            for (const { counter, count, offset } of fields['acceptedRun'] as unknown as AcceptedRun[]) {
                const more = BigInt(count) - 1n
                const isRun = counter > 0n && count > 0 && counter + more <= lastU64 && offset + more <= lastU64
                if (!isRun || (offset === 0n && count !== 1)) throw error('invalidValue')
            }
            break
        case Type.gap:
            if (fields['first'] as bigint < 1n || fields['upTo']! < fields['first']!) throw error('invalidValue')
            break
        case Type.opened:
            if (fields['counter'] === 0n) throw error('invalidValue')
            break
        case Type.update: checkUpdate(fields); break
    }
}

/** A content of kind text has one text (W-63). */
function checkContent(fields: Fields): void {
    if (fields['kind'] !== Kind.text) return
    const content = fields['content'] as Uint8Array
    const texts = readTLVs(content).filter(({ tag }) => tag === Tag.text)
    if (texts.length !== 1) throw error(texts.length === 0 ? 'missingField' : 'duplicateField')
    const [text] = texts
    const value = parseValue(tags.get(Tag.text)!, content.subarray(text!.start, text!.end))
    if (value === '') throw error('invalidValue')
}

function checkTransient(fields: Fields): void {
    const isContent = 'kind' in fields || 'content' in fields
    const count = Number('typing' in fields) + Number('presence' in fields) + Number(isContent)
    if (count > 1) throw error('invalidValue')
    if (count === 0 || (isContent && !('kind' in fields && 'content' in fields))) throw error('missingField')
    if (isContent) checkContent(fields)
}

function checkAck(ack: AckBody): void {
    for (const { cumulative, ranges } of ack.sessionAck) {
        let behind = cumulative
        for (const [index, [first, last]] of ranges.entries()) {
            if (first <= behind + (index === 0 ? 1n : 0n) || last < first) throw error('invalidValue')
            behind = last
        }
    }
}

function checkReceipt(fields: Fields): void {
    const isRefused = fields['receiptKind'] === ReceiptKind.refused
    const required = isRefused ? ['counter', 'code'] : ['upTo']
    if (!required.every((name) => name in fields)) throw error('missingField')
    for (const name of isRefused ? ['upTo', 'sender', 'device'] : ['counter', 'code', 'reason']) delete fields[name]
}

function checkUpdate(fields: Fields): void {
    if (!('room' in fields)) {
        if (Object.keys(fields).length > 0) throw error('missingField')
        return
    }
    if (!['membership', 'head', 'first'].every((name) => name in fields)) throw error('missingField')
    if (fields['membership'] === Membership.none) return
    if (((fields['message'] ?? '') as Uint8Array).length > 4_096) throw error('invalidValue')
}

/** Encodes fields in the order of the table of their type. Absent ones are left out. */
export function encodeBody(type: TypeInfo, fields: Fields): Uint8Array {
    return encodeFields(type.fields, fields, type.number)
}

export function encodeFields(fields: Field[], values: Fields, type = 0): Uint8Array {
    const writer = new Writer()
    for (const { tag, repeats } of fields) {
        const value = values[tag.name]
        if (value === undefined) continue
        for (const each of repeats ? value as Value[] : [value]) {
            writer.u16(tag.number)
            const lengthAt = writer.length
            writer.u32(0)
            if (tag.number === Tag.limits) writer.bytes(encodeFields(limitsFields, each as Fields))
            else if (tag.number === Tag.resume) {
                writer.bytes(encodeFields(type === Type.hello ? resumeOfHello : resumeOfWelcome, each as Fields))
            } else encodeValue(tag, each, writer)
            writer.setU32(lengthAt, writer.length - lengthAt - 4)
        }
    }
    return writer.take()
}
