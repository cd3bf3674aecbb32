// The vectors with the state of a link, as far as they concern what a client receives or counts.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { parseBody } from '../build/wire/bodies.js'
import { WireError } from '../build/wire/errors.js'
import { Receiver } from '../build/wire/receiver.js'
import { Assembler } from '../build/link/assembler.js'
import { ReceiveWindow, wholeSequence } from '../build/link/window.js'
import { readTLVs } from '../build/wire/tlv.js'
import { bytesOf, expand, hex } from './support/vectors.mjs'

const read = (file) => JSON.parse(readFileSync(new URL(`../../../Specs/vectors/${file}`, import.meta.url), 'utf8'))

function outcome(action) {
    try {
        return action()
    } catch (error) {
        assert(error instanceof WireError, error)
        return error.code
    }
}

test('vectors sequences.json', () => {
    for (const { name, expected, low, whole, error } of read('sequences.json').vectors) {
        const result = outcome(() => String(wholeSequence(BigInt(expected), low)))
        // The rule alone: what is outside the window has a whole number too.
        if (result === 'outOfWindow') continue
        assert.equal(result, whole ?? error, name)
    }
})

test('vectors windows.json', () => {
    for (const vector of read('windows.json').vectors) {
        const window = new ReceiveWindow(BigInt(vector.received))
        for (const step of vector.steps) {
            const result = outcome(() => {
                const sequence = window.locate(step.low)
                if (sequence === undefined) return 'repeated'
                window.add(sequence, 'frame')
                while (window.next() !== undefined);
                return String(sequence)
            })
            assert.equal(result, step.error ?? step.whole ?? 'repeated', vector.name)
        }
        assert.deepEqual({ cumulative: String(window.cumulative), ranges: window.ranges().map((r) => r.map(String)) },
            vector.ack, vector.name)
    }
})

/** Assembles messages of a stream by sequence and fragment. */
function assemble(vector) {
    const receiver = new Receiver('client')
    receiver.establish(0x0100, 1n, { maxBody: 65_536 })
    const { received = {}, begun = {}, maxMessage = 1_048_576 } = vector.given ?? {}
    const sessions = new Map()
    const session = (id) => {
        if (!sessions.has(id)) {
            const made = { window: new ReceiveWindow(BigInt(received[id] ?? 0)), assembler: new Assembler(maxMessage) }
            if (begun[id]) made.assembler.begin(0x1000, bytesOf(begun[id]))
            sessions.set(id, made)
        }
        return sessions.get(id)
    }
    const result = { delivered: [] }
    receiver.add(bytesOf(vector.bytes))
    for (let frame; (frame = receiver.next()) !== undefined;) {
        if ((frame.flags & 1) === 0) continue
        const { window, assembler } = session(frame.session)
        const sequence = window.locate(frame.sequence)
        if (sequence === undefined) continue
        window.add(sequence, frame)
        for (let next; (next = window.next()) !== undefined;) {
            try {
                const body = assembler.add(next)
                if (body === undefined || next.info === undefined) continue
                const value = parseBody(next.info, body, 'client')
                result.delivered.push({ type: next.info.name, session: next.session, value: shown(value) })
            } catch (error) {
                if (error.scope === 'session') result.reset = { session: next.session, code: error.code }
                else result.error = error.code
                return result
            }
        }
    }
    return result
}

function shown(value) {
    const show = (name, each) => name === 'content' ? readTLVs(each).map(({ tag, start, end }) =>
        [tag, hex(each.subarray(start, end))]) : typeof each === 'bigint' ? String(each) : each
    return Object.fromEntries(Object.entries(value).filter(([, each]) => !Array.isArray(each) || each.length > 0)
        .map(([name, each]) => [name, show(name, each)]))
}

test('vectors assembled.json', () => {
    for (const vector of read('assembled.json').vectors) {
        const { delivered, error, reset } = vector
        assert.deepEqual(assemble(vector), {
            delivered: expand(delivered), ...(error && { error }), ...(reset && { reset }),
        }, vector.name)
    }
})

test('vectors resumes.json and conversations.json', () => {
    for (const vector of [...read('resumes.json').vectors, ...read('conversations.json').vectors]) {
        const windows = new Map()
        const window = (from, session, received) => {
            const key = `${from} ${session}`
            if (!windows.has(key)) windows.set(key, new ReceiveWindow(BigInt(received ?? 0)))
            return windows.get(key)
        }
        const receivers = new Map()
        let knownReceived = {}
        for (const step of vector.steps) {
            knownReceived = { ...knownReceived, ...step.received }
            const key = `${step.connection} ${step.from}`
            if (!receivers.has(key)) receivers.set(key, new Receiver(step.from))
            const receiver = receivers.get(key)
            receiver.add(bytesOf(step.bytes))
            for (const expected of expand(step.frames)) {
                const frame = receiver.next()
                assert.equal(frame?.info?.name, expected.type, vector.name)
                if (expected.passedOver) continue
                const body = expected.value ? parseBody(frame.info, frame.body, step.from) : {}
                if (frame.info.name === 'welcome') {
                    for (const from of ['client', 'server']) {
                        receivers.get(`${step.connection} ${from}`)
                            ?.establish(body.spokenVersion, body.features, body.limits)
                    }
                    if (body.resume === undefined) windows.clear()
                }
                if (!(frame.flags & 1)) continue
                const each = window(step.from, frame.session, knownReceived[step.from]?.[frame.session])
                const sequence = each.locate(frame.sequence)
                if (expected.repeated) {
                    assert.equal(sequence, undefined, vector.name)
                    continue
                }
                assert.equal(String(sequence), expected.whole, vector.name)
                each.add(sequence, frame)
                while (each.next() !== undefined);
            }
            assert.equal(receiver.next(), undefined, vector.name)
        }
    }
})
