// Replays the vectors of Specs/vectors that need no state of a link, whole and cut into single bytes.
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { parseBody } from '../build/wire/bodies.js'
import { crc32 } from '../build/wire/checksum.js'
import { Framer } from '../build/wire/framer.js'
import { encodeFrame } from '../build/wire/header.js'
import { WireError, codeName } from '../build/wire/errors.js'
import { Receiver } from '../build/wire/receiver.js'
import { Flag, Type } from '../build/wire/registry.generated.js'
import { readTLVs, isContainer } from '../build/wire/tlv.js'
import { Assembler } from '../build/link/assembler.js'
import { bytesOf, expand, expandedHex, hex } from './support/vectors.mjs'

const folder = new URL('../../../Specs/vectors/', import.meta.url)
const read = (file) => JSON.parse(readFileSync(new URL(file, folder), 'utf8'))
const notStreams = ['assembled', 'changes', 'contents', 'conversations', 'floods', 'floods-beyond', 'links', 'resumes',
    'scram', 'sequences', 'windows'].map((name) => `${name}.json`)

function pieces(bytes, size) {
    const result = []
    for (let at = 0; at < bytes.length; at += size) result.push(bytes.subarray(at, at + size))
    return result
}

const choiceNames = {}
function shown(name, value, tagName) {
    if (name === 'content') return tlvs(value)
    if (name === 'spokenVersion') {
        const text = (v) => `${v >> 8}.${v & 255}`
        return Array.isArray(value) ? value.map(text) : text(value)
    }
    if (Array.isArray(value)) return value.map((each) => shown(tagName ?? name, each))
    if (typeof value === 'bigint') return String(value)
    if (value instanceof Uint8Array) return hex(value)
    if (typeof value === 'object') {
        if (name === 'sessionPosition') return { session: value.session, highest: String(value.received) }
        if (name === 'sessionAck') {
            return { session: value.session, cumulative: String(value.cumulative), credit: String(value.credit),
                ranges: value.ranges.map((range) => range.map(String)) }
        }
        return fields(value)
    }
    return value
}

function fields(value) {
    const result = {}
    for (const [name, each] of Object.entries(value)) {
        if (Array.isArray(each) && each.length === 0) continue
        if (name === 'noLocal' && each === 0) continue
        result[name] = shown(name, each)
    }
    return result
}

function tlvs(bytes) {
    return readTLVs(bytes).map(({ tag, start, end }) => {
        const value = bytes.subarray(start, end)
        return [tag, isContainer(tag) ? tlvs(value) : hex(value)]
    })
}

/** The result of a stream, in the form of the vectors. */
function replay(vector, chunks) {
    const given = { from: 'client', phase: 'established', maxBody: 65_536, zlib: true, ...vector.given }
    const receiver = new Receiver(given.from)
    if (given.phase === 'established') {
        receiver.establish(0x0100, given.zlib ? 1n : 0n, { maxBody: given.maxBody })
    }
    const assemblers = new Map()
    const result = { frames: [] }
    let last = 0
    try {
        for (const chunk of [...chunks, undefined]) {
            if (chunk === undefined) {
                if (vector.end) receiver.finish()
                break
            }
            receiver.add(chunk)
            for (;;) {
                const frame = receiver.next()
                if (frame === undefined) break
                last = frame.at
                const row = { type: frame.info?.name ?? `0x${frame.type.toString(16).toUpperCase().padStart(4, '0')}` }
                const defaults = { session: 0, sequence: 0, timestamp: 0, flags: 8, compression: 0, minor: 0 }
                for (const [key, value] of Object.entries(defaults)) if (frame[key] !== value) row[key] = frame[key]
                const isPart = (frame.flags & Flag.reliable) !== 0 && advance(assemblers, frame)
                if (frame.info === undefined) row.skipped = true
                else if (isPart) row.fragment = hex(frame.body)
                else {
                    try {
                        const body = parseBody(frame.info, frame.body, given.from)
                        if (frame.type === Type.update) {
                            for (const name of ['shortened', 'deliveredUpTo', 'readUpTo', 'unread']) {
                                if (!body[name]) delete body[name]
                            }
                        }
                        if (frame.type === Type.welcome) {
                            receiver.establish(body.spokenVersion, body.features, body.limits)
                        }
                        row.value = fields(body)
                    } catch (error) {
                        assert(error instanceof WireError)
                        if (error.scope === 'connection') throw new WireError(error.code, 'connection', frame.at)
                        row.refused = error.code
                        row.ends = error.scope
                    }
                }
                result.frames.push(row)
            }
        }
    } catch (error) {
        if (!(error instanceof WireError)) throw error
        result.error = { code: error.code, at: error.at }
    }
    return result
}

/** Whether the frame is a part of a message of several fragments (W-21). */
function advance(assemblers, frame) {
    let assembler = assemblers.get(frame.session)
    if (assembler === undefined) assemblers.set(frame.session, assembler = new Assembler(1 << 20))
    const wasInside = assembler.isInside
    try {
        assembler.add(frame, true)
    } catch (error) {
        throw new WireError(error.code, 'connection', frame.at)
    }
    return wasInside || assembler.isInside
}

const equivalent = (frames) => frames.map((frame) => 'fragment' in frame ?
    { ...frame, fragment: hex(bytesOf(frame.fragment)) } : frame)

for (const file of readdirSync(folder).filter((name) => name.endsWith('.json')).sort()) {
    if (notStreams.includes(file) || file.startsWith('packets-')) continue
    test(`vectors ${file}`, () => {
        for (const vector of read(file).vectors) {
            const bytes = bytesOf(vector.bytes)
            const expected = { frames: equivalent(expandedHex(vector.frames)) }
            if (vector.error) expected.error = vector.error
            for (const size of bytes.length > 20_000 ? [bytes.length] : [Math.max(bytes.length, 1), 1, 29]) {
                assert.deepEqual(replay(vector, pieces(bytes, size)), expected, `${file}: ${vector.name}`)
            }
        }
    })
}

function unpack(vector, chunks) {
    const framer = new Framer({
        maxBody: vector.maxBody ?? 65_536, compact: vector.features.includes('compact'),
        sharedDeflate: vector.features.includes('sharedDeflate'),
    })
    const result = { frames: [] }
    try {
        for (const chunk of chunks) {
            framer.add(chunk)
            for (let frame; (frame = framer.next()) !== undefined;) {
                result.frames.push(hex(encodeFrame(frame, frame.minor)))
            }
        }
        if (vector.end) framer.finish()
    } catch (error) {
        if (!(error instanceof WireError)) throw error
        result.error = error.code
    }
    return result
}

for (const file of readdirSync(folder).filter((name) => name.startsWith('packets-')).sort()) {
    test(`vectors ${file}`, () => {
        for (const vector of read(file).vectors) {
            const bytes = bytesOf(vector.bytes)
            const expected = { frames: expand(vector.frames).map((frame) => hex(bytesOf(frame))) }
            if (vector.error) expected.error = vector.error
            for (const size of [Math.max(bytes.length, 1), 1]) {
                assert.deepEqual(unpack(vector, pieces(bytes, size)), expected, `${file}: ${vector.name}`)
            }
        }
    })
}

test('checksums', () => {
    assert.equal(crc32(new TextEncoder().encode('123456789')), 0xcbf43926)
    assert.equal(codeName(0x0107), 'badChecksum')
    assert.equal(codeName(0xf123), '0xF123')
})
