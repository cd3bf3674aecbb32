// Random bytes and mutated vectors: faults are WireErrors, and nothing hangs. FUZZ multiplies the number of inputs.
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { constants, deflateRawSync, inflateRawSync } from 'node:zlib'
import { test } from 'node:test'
import { parseMessage } from '../build/index.js'
import { parseBody } from '../build/wire/bodies.js'
import { WireError } from '../build/wire/errors.js'
import { Framer } from '../build/wire/framer.js'
import { InflateStream } from '../build/wire/inflate.js'
import { Receiver } from '../build/wire/receiver.js'
import { Scenario } from './support/scenario.mjs'
import { bytesOf } from './support/vectors.mjs'

const rounds = Number(process.env.FUZZ ?? 1)
const folder = new URL('../../../Specs/vectors/', import.meta.url)

/** Random numbers that are the same in each run. */
function random(seed) {
    let state = seed >>> 0 || 1
    return (limit) => {
        state ^= state << 13
        state ^= state >>> 17
        state ^= state << 5
        return (state >>> 0) % limit
    }
}

const streams = readdirSync(folder).filter((name) => name.endsWith('.json')).flatMap((name) =>
    JSON.parse(readFileSync(new URL(name, folder), 'utf8')).vectors.filter(({ bytes }) => bytes).map((vector) => ({
        ...vector, isPackets: name.startsWith('packets-'), bytes: bytesOf(vector.bytes),
    }))).filter(({ bytes }) => bytes.length > 0 && bytes.length < 20_000)

function mutate(bytes, next) {
    const result = Buffer.from(bytes)
    for (let count = 1 + next(4); count > 0; count--) {
        const at = next(result.length)
        const kind = next(4)
        if (kind === 0) result[at] ^= 1 << next(8)
        else if (kind === 1) result[at] = next(256)
        else if (kind === 2) result.copy(result, at, next(result.length), Math.min(result.length, at + 1 + next(16)))
        else return new Uint8Array(result.subarray(0, at + 1))
    }
    return new Uint8Array(result)
}

/** Runs an action that may throw WireErrors only. */
function guarded(action) {
    try {
        action()
    } catch (error) {
        if (!(error instanceof WireError)) throw error
    }
}

function receive(bytes, from, { zlib = true, compact = true } = {}) {
    const receiver = new Receiver(from)
    receiver.establish(0x0101, (zlib ? 1n : 0n) | (compact ? 48n : 0n), { maxBody: 65_536 })
    receiver.add(bytes)
    for (let frame; (frame = receiver.next()) !== undefined;) {
        if (frame.info !== undefined && !frame.isFragment) guarded(() => parseBody(frame.info, frame.body, from))
    }
}

test('mutated vectors through the receiver', () => {
    const next = random(1)
    for (let round = 0; round < 6 * rounds; round++) {
        for (const vector of streams) {
            const bytes = mutate(vector.bytes, next)
            if (vector.isPackets) {
                const framer = new Framer({ maxBody: 65_536, compact: true, sharedDeflate: true })
                guarded(() => {
                    framer.add(bytes)
                    while (framer.next() !== undefined);
                })
            } else {
                guarded(() => receive(bytes, vector.given?.from ?? 'client'))
            }
        }
    }
})

test('mutated bodies without the checksum in the way', () => {
    const next = random(2)
    for (let round = 0; round < 10 * rounds; round++) {
        for (const { bytes, isPackets, given } of streams) {
            if (isPackets || bytes.length < 29) continue
            const from = given?.from ?? 'client'
            guarded(() => {
                const receiver = new Receiver(from, 'handshake')
                receiver.establish(0x0101, 1n, { maxBody: 65_536 })
                receiver.add(bytes)
                for (let frame; (frame = receiver.next()) !== undefined;) {
                    if (frame.info === undefined || frame.body.length === 0) continue
                    const body = mutate(frame.body, next)
                    guarded(() => parseBody(frame.info, body, from))
                    guarded(() => parseMessage(0x1001 + next(16), body))
                }
            })
        }
    }
})

test('random packets', () => {
    const next = random(3)
    for (let round = 0; round < 3_000 * rounds; round++) {
        const bytes = new Uint8Array(1 + next(200)).map(() => next(256))
        bytes[0] = [next(127) + 1, 0xa0 | next(32), 0xc0 | next(64)][next(3)]
        const framer = new Framer({ maxBody: 17_408, compact: true, sharedDeflate: true })
        guarded(() => {
            framer.add(bytes)
            while (framer.next() !== undefined);
        })
    }
})

test('mutated frames through the engine: the connection ends with a code, or continues', () => {
    const next = random(4)
    const servers = streams.filter(({ given, isPackets }) => given?.from === 'server' && !isPackets)
    for (let round = 0; round < 2 * rounds; round++) {
        for (const { bytes } of servers) {
            const scenario = new Scenario().online()
            for (let count = 0; count < 3 && !scenario.isEnded; count++) {
                const input = count === 0 ? bytes : mutate(bytes, next)
                scenario.run((engine, now) => engine.carrierData(scenario.connection, input, now))
                scenario.now += 30
                scenario.run()
            }
            assert(scenario.engine.deadline > -Infinity || scenario.isEnded)
        }
    }
})

test('inflate and zlib agree', () => {
    const next = random(5)
    for (let round = 0; round < 400 * rounds; round++) {
        const byte = (_, index) => index % 7 ? 97 + next(4) : next(256)
        const data = Buffer.from(Array.from({ length: next(3_000) }, byte))
        const deflated = deflateRawSync(data, { level: next(10), strategy: next(5) })
        assert.deepEqual(Buffer.from(new InflateStream().whole(deflated, 0, 4_096).bytes), data)
        const damaged = mutate(deflated, next)
        let expected
        try {
            expected = inflateRawSync(damaged, { maxOutputLength: 4_096, finishFlush: constants.Z_FINISH })
        } catch { }
        let result
        guarded(() => {
            result = new InflateStream().whole(damaged, 0, 4_096).bytes
        })
        if (expected !== undefined) assert.deepEqual(Buffer.from(result), expected)
    }
})
