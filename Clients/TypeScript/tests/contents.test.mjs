// The vectors of contents, changes and SCRAM.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { Changes, encodeContent, Kind, parseMessage, targetOf, WireError } from '../build/index.js'
import { scram } from '../build/api/scram.js'
import { bytesOf, expand, hex } from './support/vectors.mjs'

const read = (file) => JSON.parse(readFileSync(new URL(`../../../Specs/vectors/${file}`, import.meta.url), 'utf8'))

function shownValue(value) {
    if (value === null) return { null: true }
    if (typeof value === 'boolean') return { bool: value }
    if (typeof value === 'bigint') return { [value >= 1n << 63n ? 'unsigned' : 'integer']: String(value) }
    if (typeof value === 'string') return { text: value }
    if (value instanceof Uint8Array) return { data: hex(value) }
    if (Array.isArray(value)) return { array: value.map(shownValue) }
    if (value instanceof Map) return { object: [...value].map(([key, each]) => ({ key, value: shownValue(each) })) }
    const bytes = Buffer.alloc(8)
    bytes.writeDoubleBE(value)
    return { double: bytes.toString('hex') }
}

function shown(content) {
    const result = {}
    for (const [name, value] of Object.entries(content)) {
        if (name === 'target') {
            const { offset, ...rest } = value
            result[name] = { ...rest, device: String(value.device), counter: String(value.counter) }
            if (offset !== 0n) result[name].offset = String(offset)
        } else if (name === 'removed') {
            if (value) result[name] = 1
        } else if (name === 'value') result[name] = shownValue(value)
        else result[name] = typeof value === 'bigint' ? String(value) : value instanceof Uint8Array ? hex(value) : value
    }
    return result
}

test('vectors contents.json', () => {
    for (const vector of read('contents.json').vectors) {
        let result
        try {
            result = { fields: shown(parseMessage(vector.kind, bytesOf(vector.content))) }
        } catch (error) {
            assert(error instanceof WireError, error)
            result = { error: error.code }
        }
        const expected = vector.error ? { error: vector.error } : { fields: expand(vector.fields) }
        assert.deepEqual(result, expected, vector.name)
    }
})

const permutations = (list) => list.length < 2 ? [list] : list.flatMap((each, index) =>
    permutations(list.toSpliced ? list.toSpliced(index, 1) : [...list.slice(0, index), ...list.slice(index + 1)])
        .map((rest) => [each, ...rest]))

test('vectors changes.json', () => {
    const identity = ({ sender, device, counter, offset = '0' }) =>
        ({ sender, device: BigInt(device), counter: BigInt(counter), offset: BigInt(offset) })
    for (const vector of read('changes.json').vectors) {
        for (const order of permutations(vector.changes)) {
            const moderators = vector.changes.filter(({ isModerator }) => isModerator).map(({ sender }) => sender)
            const changes = new Changes((account) => moderators.includes(account))
            for (const { offset, sender, kind, fields } of order) {
                const target = targetOf(identity(fields.target))
                const content = encodeContent('target text? reaction? removed?', { ...fields, target })
                const number = kind === 'delete' ? Kind.delete_ : Kind[kind]
                const place = { offset: BigInt(offset), acceptedAt: 0, device: 9n, counter: BigInt(offset) }
                changes.apply({ ...place, sender, kind: number, content })
            }
            const { text, isDeleted, reactions } = changes.of(identity(vector.target))
            const result = { ...(text !== undefined && { text }), ...(isDeleted && { isDeleted }),
                ...(reactions.length > 0 && { reactions }) }
            assert.deepEqual(result, vector.result, vector.name)
        }
    }
})

test('vectors scram.json', async () => {
    const text = (bytes) => new TextDecoder().decode(bytes)
    for (const vector of read('scram.json').vectors) {
        const { user, password, clientNonce, exporter, refusedMessage } = vector
        const messages = vector.messages.map((parts) => parts.join(''))
        const binding = exporter ? new Uint8Array(Buffer.from(exporter, 'hex')) : messages[0][0]
        const exchange = scram(user, password, clientNonce, binding)
        assert.equal(text((await exchange.first()).credential), messages[0], vector.name)
        const answer = exchange.answer(new TextEncoder().encode(messages[1]))
        if (messages.length === 2 && refusedMessage) {
            await assert.rejects(answer, vector.name)
            continue
        }
        const { answer: final, expected } = await answer
        const last = messages[2]
        const isOfClient = last === text(final)
        assert(isOfClient || refusedMessage, vector.name)
        if (messages.length > 3) assert.equal(text(expected) === messages[3], !refusedMessage, vector.name)
    }
})
