// The engine in virtual time, against a scripted server.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Code, Scenario } from './support/scenario.mjs'
import { redirected, parseEndpoint } from '../build/client/endpoint.js'
import { bytesOfTLVs, textContent } from '../build/messages/tlvs.js'
import { outcomeUnknown } from '../build/wire/errors.js'
import { encodeFrame } from '../build/wire/header.js'
import { ReconnectPolicy } from '../build/client/policy.js'

const cutOf = (s) => s.last('goaway')?.fields.code

test('a message is published, accepted and removed (R-19, R-21)', () => {
    const s = new Scenario().online()
    s.publish(1)
    assert.equal(s.last('data').fields.counter, 1n)
    assert.equal(s.last('data').sequence, 2)
    s.ack()
    s.serve('accepted', { acceptedRun: [{ counter: 1n, count: 1, offset: 1n }] }, { session: 1 })
    assert.deepEqual(s.eventsOf('accepted'), [{ type: 'accepted', room: 'lobby', counter: 1n, offset: 1n }])
})

test('an ack is sent within 25 ms, with the credit and an echo (S-20, S-24, S-37)', () => {
    const s = new Scenario().online()
    s.pass(30)
    const before = s.count('ack')
    s.serve('data', s.message(1), { session: 1, timestamp: 77 })
    assert.equal(s.count('ack'), before)
    s.pass(24)
    assert.equal(s.count('ack'), before)
    s.pass(1)
    assert.equal(s.count('ack'), before + 1)
    const { fields } = s.last('ack')
    assert.equal(fields.sessionAck[0].cumulative, 2n)
    const length = s.bytes('data', s.message(1), { session: 1, sequence: 9 }).length - 28
    assert.equal(fields.sessionAck[0].credit, 262_144n + BigInt(length))
    assert.deepEqual([fields.echo.timestamp, fields.echo.held], [77, 25_000])
})

test('a duplicate is dropped and acknowledged at once; a gap is closed later (S-18)', () => {
    const s = new Scenario().online()
    s.pass(30)
    s.serve('data', s.message(1), { session: 1, sequence: 2 })
    s.serve('data', s.message(1), { session: 1, sequence: 2 })
    assert.equal(s.last('ack').fields.sessionAck[0].cumulative, 2n)
    s.serve('data', s.message(3), { session: 1, sequence: 4 })
    assert.deepEqual(s.last('ack').fields.sessionAck[0].ranges, [[4n, 4n]])
    assert.deepEqual(s.eventsOf('message').map(({ message }) => message.offset), [1n])
    s.serve('data', s.message(2), { session: 1, sequence: 3 })
    assert.deepEqual(s.eventsOf('message').map(({ message }) => message.offset), [1n, 2n, 3n])
    s.serve('data', s.message(2), { session: 1, sequence: 5 })
    assert.equal(s.eventsOf('message').length, 3)
})

test('a sequence beyond the window ends the connection, and the link is resumed (S-17, C-41)', () => {
    const s = new Scenario().online()
    s.serve('data', s.message(1), { session: 1, sequence: 9_000 })
    assert.equal(cutOf(s), Code.outOfWindow)
    s.pass(300)
    s.up()
    assert.equal(s.last('hello').fields.resume.link, 5n)
})

test('resume: what the server lacks is sent again under its sequences (C-29 to C-33)', () => {
    const s = new Scenario().online()
    s.publish(1)
    s.publish(2)
    s.lose()
    s.pass(12_000)
    s.up()
    assert.deepEqual(s.last('hello').fields.resume.sessionPosition,
        [{ session: 0, received: 0n }, { session: 1, received: 1n }])
    s.welcome({ epoch: 2, resume: { sessionPosition: [{ session: 0, received: 0n }, { session: 1, received: 2n }] } })
    assert.deepEqual(s.frames.filter(({ name }) => name === 'data').map(({ sequence, fields }) =>
        [sequence, fields.counter]), [[3, 2n]])
    s.pass(25)
    assert.equal(s.last('ack').fields.sessionAck.length, 2)
})

test('a session that the server has closed and forgotten ends with the resume, and is opened again (C-33)', () => {
    const s = new Scenario().online()
    s.serve('close', {}, { session: 1 })
    s.lose()
    s.pass(12_000)
    s.up()
    s.welcome({ epoch: 2, resume: { sessionPosition: [{ session: 0, received: 0n }] } })
    assert.equal(s.eventsOf('closed').length, 1)
    s.pass(2_000)
    assert.equal(s.last('open').session, 3)
})

test('no acknowledgement for 60 s, while frames arrive, is ackTimeout (S-30)', () => {
    const s = new Scenario().online()
    s.answersPings = true
    s.publish(1)
    const begin = s.now
    while (cutOf(s) === undefined && s.now - begin < 70_000) s.pass(500)
    assert.equal(cutOf(s), Code.ackTimeout)
    assert(s.now - begin >= 59_000 && s.now - begin <= 61_000, String(s.now - begin))
})

test('a refused resume begins a new link on the connection, under the same counters (C-34, C-36)', () => {
    const s = new Scenario().online()
    s.publish(1)
    s.lose()
    s.pass(12_000)
    s.up()
    s.serve('reject', { code: Code.resumeRejected })
    assert.equal(s.last('hello').fields.resume, undefined)
    assert.equal(s.connections.length, 2)
    s.sequences.clear()
    s.welcome()
    assert.deepEqual([s.last('open').session, s.last('data').fields.counter, s.last('data').sequence], [1, 1n, 2])
})

test('an impossible position is protocolViolation, and the next link is new (C-30, C-32)', () => {
    const s = new Scenario().online()
    s.lose()
    s.pass(12_000)
    s.up()
    s.welcome({ resume: { sessionPosition: [{ session: 1, received: 99n }] } })
    assert.equal(cutOf(s), Code.protocolViolation)
    s.pass(24_000)
    s.up()
    assert.equal(s.last('hello').fields.resume, undefined)
})

test('a welcome with a resume that was not requested is refused (C-20)', () => {
    const s = new Scenario()
    s.connect()
    s.welcome({ resume: { sessionPosition: [] } })
    assert.equal(cutOf(s), Code.protocolViolation)
})

test('other frames before welcome are protocolViolation (C-19)', () => {
    const s = new Scenario()
    s.connect()
    s.serve('ping', { nonce: 1n })
    assert.equal(cutOf(s), Code.protocolViolation)
})

test('an ack of what was never sent ends the connection (S-23)', () => {
    const s = new Scenario().online()
    s.serve('ack', { linkCredit: 0n, sessionAck: [{ session: 1, cumulative: 5n, credit: 0n, ranges: [] }] })
    assert.equal(cutOf(s), Code.ackUnsent)
})

test('credit: a sender stays within the limits, and fragments a long message (S-35, S-40, S-43)', () => {
    const s = new Scenario().online()
    s.publish(1, 'x'.repeat(40_000))
    const sent = s.frames.filter(({ name }) => name === 'data')
    assert.deepEqual(sent.map(({ isFragment }) => isFragment), [true, true, false])
    assert.deepEqual(sent.slice(0, 2).map(({ body }) => body.length), [16_384, 16_384])
    for (let counter = 2; counter <= 10; counter++) s.publish(counter, 'x'.repeat(40_000))
    const total = s.frames.filter(({ name }) => name === 'data').reduce((sum, { body }) => sum + body.length, 0)
    assert(total <= 262_144 && total > 262_144 - 16_384, String(total))
    s.serve('ack', { linkCredit: 2_000_000n,
        sessionAck: [{ session: 1, cumulative: BigInt(s.last('data').sequence), credit: 2_000_000n, ranges: [] }] })
    assert.equal(s.frames.filter(({ name, isFragment }) => name === 'data' && !isFragment).length, 10)
})

test('blocked by credit alone: probes at growing intervals (S-41)', () => {
    const s = new Scenario().online()
    for (let counter = 1; counter <= 8; counter++) s.publish(counter, 'x'.repeat(40_000))
    s.ack()
    const before = s.count('ping')
    s.pass(1_100)
    assert.equal(s.count('ping'), before + 1)
    assert.equal(s.last('ping').flags & 4, 4)
})

test('more credit used than granted ends the connection (S-36)', () => {
    const s = new Scenario().online()
    // Behind a gap nothing is consumed, so that nothing is returned.
    const body = { ...s.message(2), kind: 0xf000, content: bytesOfTLVs([0x0202, new Uint8Array(60_000)]) }
    for (let sequence = 3; sequence <= 6; sequence++) s.serve('data', body, { session: 1, sequence })
    assert.equal(cutOf(s), undefined)
    s.serve('data', body, { session: 1, sequence: 7 })
    assert.equal(cutOf(s), Code.creditExceeded)
})

test('a frame behind close, opened twice, an open of the server (S-7, S-5, S-2)', () => {
    let s = new Scenario().online()
    s.serve('opened', { head: 0n, first: 1n }, { session: 1 })
    assert.equal(cutOf(s), Code.protocolViolation)
    s = new Scenario().online()
    s.serve('close', {}, { session: 1 })
    assert.equal(s.last('close').session, 1)
    s.serve('data', s.message(1), { session: 1 })
    assert.equal(cutOf(s), Code.protocolViolation)
    s = new Scenario().online()
    s.serve('open', { room: 'x', sessionKind: 0, cursor: 0n }, { session: 2 })
    assert.deepEqual([s.last('reset').fields.session, s.last('reset').fields.code], [2, Code.unsupportedKind])
})

test('a suspended session holds back messages, requests and typing until it is resumed (S-9)', () => {
    const s = new Scenario().online()
    s.serve('suspend', {}, { session: 1 })
    s.publish(1)
    s.run((engine, now) => engine.setTyping('lobby', true, now))
    const none = new Uint8Array(0)
    s.run((engine, now) => engine.request({ room: 'lobby' }, 'head', none, 5_000, now, () => undefined))
    s.pass(30)
    assert.equal(s.count('data') + s.count('transient') + s.count('request'), 0)
    s.serve('resume', {}, { session: 1 })
    assert.equal(s.last('data').fields.counter, 1n)
    assert.equal(s.last('request').fields.method, 'head')
})

test('a reset is tried again after its time; a refusal gives the room up (R-13, S-64)', () => {
    const s = new Scenario().online()
    s.answersPings = true
    s.publish(1)
    s.serve('reset', { session: 1, code: Code.serverBusy, retryAfter: 5_000, creditUsed: 0n })
    assert.equal(s.last('reset').fields.code, Code.serverBusy)
    s.pass(4_900)
    assert.equal(s.count('open'), 1)
    s.pass(1_200)
    assert.deepEqual([s.last('open').session, s.last('data').session, s.last('data').fields.counter], [3, 3, 1n])
    s.serve('reset', { session: 3, code: Code.roomForbidden })
    s.pass(50_000)
    assert.equal(s.count('open'), 2)
    assert.equal(s.eventsOf('closed').at(-1).isFinal, true)
    // The outcome of what was published is unknown (C-74).
    assert.equal(s.eventsOf('failed').length, 0)
})

/** A session that was requested and has no answer, with a message. */
function opening() {
    const s = new Scenario()
    s.connect()
    s.welcome()
    s.run((engine, now) => engine.openRoom('lobby', { cursor: 0n }, now))
    s.publish(1)
    return s
}

const failures = (s) => s.eventsOf('failed').map(({ counter, code }) => [counter, code])

test('a room that is refused at its opening fails its messages, and later ones (R-13)', () => {
    const s = opening()
    assert.equal(s.last('data').fields.counter, 1n)
    s.serve('reset', { session: 1, code: Code.roomForbidden })
    assert.deepEqual(failures(s), [[1n, Code.roomForbidden]])
    s.publish(2)
    assert.deepEqual(failures(s).at(-1), [2n, Code.roomForbidden])
    s.run((engine, now) => engine.openRoom('lobby', { cursor: 0n }, now))
    s.publish(3)
    assert.deepEqual([s.last('open').session, s.last('data').fields.counter], [3, 3n])
    assert.equal(failures(s).length, 2)
})

test('a refusal after a busy relay fails the message; after a lost link its outcome is unknown (R-13, C-74)', () => {
    const busy = opening()
    busy.serve('reset', { session: 1, code: Code.serverBusy })
    busy.pass(2_000)
    busy.serve('reset', { session: 3, code: Code.forbidden })
    assert.deepEqual(failures(busy), [[1n, Code.forbidden]])
    const lost = opening()
    lost.lose()
    lost.pass(12_000)
    lost.up()
    lost.serve('reject', { code: Code.resumeRejected })
    lost.sequences.clear()
    lost.welcome()
    lost.serve('reset', { session: 1, code: Code.forbidden })
    assert.deepEqual(failures(lost), [])
})

test('beyond the limit of the next relay, a message that was handed over has an unknown outcome (C-74)', () => {
    const s = new Scenario().online()
    s.publish(1, 'x'.repeat(40_000))
    s.lose()
    s.pass(12_000)
    s.up()
    s.serve('reject', { code: Code.resumeRejected })
    s.sequences.clear()
    s.publish(2, 'x'.repeat(40_000))
    s.welcome({ limits: { maxBody: 65_536, maxMessage: 20_000, linkWindow: 1_048_576, sessionWindow: 262_144,
        maxSessions: 255 } })
    assert.deepEqual(failures(s), [[1n, outcomeUnknown], [2n, Code.messageTooLarge]])
})

test('a refusal of an open session fails what was not published (R-13, C-74)', () => {
    const s = new Scenario().online()
    s.publish(1)
    s.serve('suspend', {}, { session: 1 })
    s.publish(2)
    s.serve('reset', { session: 1, code: Code.kicked })
    assert.deepEqual(failures(s), [[2n, Code.kicked]])
})

test('receipts that are due later are sent before the end of the session and of the link (R-33)', () => {
    for (const end of [(engine, now) => engine.closeRoom('lobby', now), (engine, now) => engine.disconnect(now)]) {
        const s = new Scenario().online()
        s.serve('data', s.message(1), { session: 1 })
        s.run((engine, now) => engine.room('lobby').acknowledge(1n, 0n, now))
        assert.equal(s.count('receipt'), 0)
        s.run(end)
        assert.equal(s.last('receipt').fields.upTo, 1n)
    }
})

test('a reset with less credit than was received is a fault (S-11)', () => {
    const s = new Scenario().online()
    s.serve('data', s.message(1), { session: 1 })
    s.serve('reset', { session: 1, code: Code.serverBusy, creditUsed: 1n })
    assert.equal(cutOf(s), Code.protocolViolation)
})

test('another log: the cursor begins anew, up to the branch (R-12, R-156)', () => {
    for (const [upTo, cursor, isReset] of [[undefined, 0n, true], [2n, 2n, true], [9n, 3n, false]]) {
        const s = new Scenario().online()
        for (let offset = 1; offset <= 3; offset++) s.serve('data', s.message(offset), { session: 1 })
        s.serve('reset', { session: 1, code: Code.storeUnavailable })
        s.pass(2_000)
        assert.deepEqual([s.last('open').fields.cursor, s.last('open').fields.log], [3n, 9n])
        s.serve('opened', { head: 20n, first: 1n, log: 10n, ...(upTo !== undefined && { upTo }) }, { session: 3 })
        const opened = s.eventsOf('opened').at(-1)
        assert.deepEqual([opened.cursor, opened.isReset], [cursor, isReset])
    }
})

test('an unreadable message is a gap of one offset (R-32)', () => {
    const s = new Scenario().online()
    s.serve('data', { ...s.message(1), kind: 0x1001, content: new Uint8Array(0) }, { session: 1 })
    assert.deepEqual(s.eventsOf('gap'), [{ type: 'gap', room: 'lobby', first: 1n, last: 1n }])
    assert.equal(cutOf(s), undefined)
})

test('a refused message fails with its code (R-24)', () => {
    const s = new Scenario().online()
    s.publish(1)
    s.serve('receipt', { receiptKind: 3, counter: 1n, code: Code.messageTooLarge }, { session: 1 })
    assert.deepEqual([s.eventsOf('failed')[0].counter, s.eventsOf('failed')[0].code], [1n, Code.messageTooLarge])
})

test('a reused counter: another device ID, and the message is published under it (R-152)', () => {
    const s = new Scenario().online()
    s.publish(1)
    s.serve('receipt', { receiptKind: 3, counter: 1n, code: Code.counterReused }, { session: 1 })
    assert.equal(s.eventsOf('reused').length, 1)
    s.run((engine, now) => engine.renewDevice(99n, now))
    assert.equal(s.last('goaway').fields.code, Code.none)
    s.lose()
    s.pass(10)
    s.up()
    assert.deepEqual([s.last('hello').fields.device, s.last('hello').fields.resume], [99n, undefined])
    s.sequences.clear()
    s.welcome()
    assert.equal(s.last('data').fields.counter, 1n)
})

test('a message of an earlier process: its acceptance is no sign of a reused counter (C-76, R-152)', () => {
    const open = (fields, head, counter) => {
        const s = new Scenario()
        s.connect()
        s.welcome()
        s.run((engine, now) => {
            engine.openRoom('lobby', { cursor: 0n }, now)
            engine.publish('lobby', { counter: 1n, kind: 0x1001, content: textContent('one'), isMarked: false,
                ...fields }, now)
        })
        s.serve('opened', { head, first: 1n, log: 9n, member: ['ada'], ...(counter && { counter }) }, { session: 1 })
        return s
    }
    const accepted = { acceptedRun: [{ counter: 1n, count: 1, offset: 3n }] }
    const old = open({ isOfEarlierProcess: true }, 5n)
    old.serve('accepted', accepted, { session: 1 })
    assert.deepEqual([old.eventsOf('accepted').length, old.eventsOf('reused').length], [1, 0])
    const fresh = open({}, 5n)
    fresh.serve('accepted', accepted, { session: 1 })
    assert.deepEqual([fresh.eventsOf('accepted').length, fresh.eventsOf('reused').length], [0, 1])
    assert.equal(open({ isOfEarlierProcess: true }, 5n, 99n).eventsOf('reused').length, 0)
    assert.equal(open({}, 5n, 99n).eventsOf('reused').length, 1)
    assert.equal(open({}, 5n, 64n).eventsOf('reused').length, 0)
})

test('a message that an earlier process may have handed over cannot be cancelled (C-76)', () => {
    const room = (fields) => {
        const s = new Scenario()
        s.run((engine, now) => {
            engine.openRoom('lobby', { cursor: 0n }, now)
            engine.publish('lobby', { counter: 1n, kind: 0x1001, content: textContent('one'), isMarked: false,
                ...fields }, now)
        })
        return s.engine.room('lobby')
    }
    assert.equal(room({}).cancel(1n), true)
    assert.equal(room({ isOfEarlierProcess: true }).cancel(1n), false)
    assert.equal(room({ isOfEarlierProcess: true, expiresAt: 90_000 }).cancel(1n), true)
    assert.equal(room({ isOfEarlierProcess: true, expiresAt: 90_000, isMarked: true }).cancel(1n), false)
})

test('frames of a session that has ended: once each, then they bring no progress (S-14, S-59)', () => {
    const s = new Scenario().online()
    s.serve('reset', { session: 1, code: Code.serverBusy })
    const late = () => {
        for (let sequence = 2; sequence < 1_502 && cutOf(s) === undefined; sequence++) {
            s.serve('data', s.message(sequence), { session: 1, sequence })
        }
    }
    late()
    assert.equal(cutOf(s), undefined)
    late()
    assert.equal(cutOf(s), Code.controlFlood)
})

test('moreFragments of an unknown type is ignored (W-13)', () => {
    const s = new Scenario().online()
    const bytes = encodeFrame({ type: 0x7001, sequence: 2, timestamp: 0, flags: 11, compression: 0, session: 1,
        body: new Uint8Array(0) })
    s.run((engine, now) => engine.carrierData(s.connection, bytes, now))
    s.serve('data', s.message(1), { session: 1, sequence: 3 })
    assert.equal(s.eventsOf('message').length, 1)
    assert.equal(cutOf(s), undefined)
})

test('a silent server is pinged, and replaced within 8.8 s while an answer is due (C-47)', () => {
    const s = new Scenario().online()
    s.publish(1)
    const begin = s.now
    s.isCarrying = false
    while (!s.isEnded) s.pass(100)
    assert(s.now - begin <= 8_900, String(s.now - begin))
    assert(s.now - begin >= 6_900, String(s.now - begin))
})

test('an idle link is pinged at its interval; a late timer shows a suspension (C-48, C-51)', () => {
    const s = new Scenario().online()
    s.pass(30_000)
    const before = s.count('ping')
    s.pass(16_000)
    assert(s.count('ping') > before)
    const sleepy = new Scenario().online()
    sleepy.now += 600_000
    sleepy.run()
    assert.equal(sleepy.isEnded, false)
    assert.equal(sleepy.last('ping') !== undefined, true)
    sleepy.pass(6_700)
    assert.equal(sleepy.connections.length, 2)
})

test('the retransmission timer probes; lost frames are sent again behind the pong (S-28)', () => {
    const s = new Scenario().online()
    s.publish(1)
    s.pass(1_050)
    const ping = s.last('ping')
    assert.equal(ping.flags & 4, 4)
    s.serve('pong', { nonce: ping.fields.nonce, echo: { timestamp: 0, held: 0 } })
    assert.deepEqual(s.frames.filter(({ name }) => name === 'data').map(({ sequence }) => sequence), [2, 2])
})

test('redirects: the next attempt only, never from TLS to plain text (C-58)', () => {
    const s = new Scenario()
    s.connect()
    s.serve('reject', { code: Code.redirected, redirect: 'martlet://other:7' })
    s.pass(0)
    assert.equal(s.endpoint, 'martlet://other:7')
    s.lose()
    s.pass(300)
    assert.equal(s.endpoint, 'martlet://relay:1')
    const secure = parseEndpoint('martlets://relay')
    assert.equal(secure.url, 'martlets://relay:7227')
    assert.equal(redirected(secure, 'martlet://other'), undefined)
    assert.equal(redirected(secure, 'other:9').url, 'martlets://other:9')
    assert.equal(redirected(parseEndpoint('ws://relay/martlet', false), '[::1]:8').url, 'ws://[::1]:8/martlet')
    const invalid = [
        '', 'martlet://', 'x:0', 'x:70000', 'http://x', 'a b', 'martlet://x/y', '127.1', 'ws://0x7f000001', '256.0.0.1',
        '1.2.3.4.']
    for (const text of invalid) {
        assert.equal(parseEndpoint(text), undefined, text)
    }
})

test('codes that stop, and a second refusal of the credential (C-43)', () => {
    for (const code of [Code.forbidden, Code.revoked, Code.replaced, Code.unsupportedVersion]) {
        const s = new Scenario()
        s.connect()
        s.serve('reject', { code, reason: 'no' })
        s.pass(3_600_000)
        assert.equal(s.connections.length, 1)
        assert.equal(s.engine.connectionState, 'stopped')
    }
    const s = new Scenario()
    s.connect()
    s.serve('reject', { code: Code.unauthenticated })
    s.pass(1_000)
    s.up()
    assert.equal(s.connections.length, 2)
    s.serve('reject', { code: Code.unauthenticated })
    s.pass(100_000)
    assert.equal(s.connections.length, 2)
})

test('draining: after its time and a further wait (C-43, C-57)', () => {
    const s = new Scenario().online()
    s.serve('goaway', { code: Code.draining, retryAfter: 5_000 })
    s.run((engine, now) => engine.setPath(true, now))
    s.pass(4_900)
    assert.equal(s.connections.length, 1)
    s.pass(13_000)
    assert.equal(s.connections.length, 2)
})

test('the waits between attempts (C-55, C-93, C-94, C-95)', () => {
    const waits = (random, failures) => {
        const policy = new ReconnectPolicy(() => random)
        return failures.map((failure) => {
            policy.failed(failure, 0)
            return policy.deadline
        })
    }
    assert.deepEqual(waits(1, ['other', 'other', 'other']), [250, 500, 1_000])
    assert.equal(waits(1, Array(20).fill('other')).at(-1), 24_000)
    const policy = new ReconnectPolicy(() => 1)
    policy.welcomed(0, false, undefined)
    policy.failed('ended', 2_000)
    assert.equal(policy.deadline, 14_000)
    policy.failed('other', 20_000)
    assert.equal(policy.deadline, 44_000)
    policy.welcomed(50_000, true, 4_096)
    policy.failed('ended', 52_000)
    assert.equal(policy.deadline, 54_048)
    policy.failed('refused', 55_000)
    assert.equal(policy.deadline, 59_096)
    policy.failed('other', 60_000)
    policy.failed('other', 60_000)
    policy.failed('other', 60_000)
    assert.equal(policy.deadline, 84_000)
    policy.hurry(60_000)
    assert.equal(policy.deadline, 64_096)
})

test('a row keeps its base, and only ends of resumed links halve it (C-55)', () => {
    const policy = new ReconnectPolicy(() => 1)
    policy.welcomed(0, false, 8_000)
    policy.failed('ended', 100)
    assert.equal(policy.deadline, 8_100)
    // A connection that is lost within 1 s continues the row.
    policy.welcomed(9_000, true, 8_000)
    policy.failed('other', 9_500)
    assert.equal(policy.deadline, 9_500 + 16_000)
    policy.welcomed(30_000, true, 8_000)
    policy.failed('ended', 40_000)
    assert.equal(policy.deadline, 44_000)
    // A failed attempt and a path change do not change the number of halvings.
    policy.pathChanged(40_000)
    policy.failed('other', 41_000)
    assert.equal(policy.deadline, 41_250)
    policy.welcomed(50_000, true, 8_000)
    policy.failed('ended', 60_000)
    assert.equal(policy.deadline, 62_000)
    policy.welcomed(70_000, true, 8_000)
    policy.failed('ended', 130_000)
    assert.equal(policy.deadline, 138_000)
    policy.cancel()
    policy.now(140_000)
    policy.failed('other', 140_000)
    assert.equal(policy.deadline, 140_250)
})

test('the foreground: an attempt at once, but not before retryAfter; the row continues (C-57)', () => {
    const policy = new ReconnectPolicy(() => 1)
    for (let count = 0; count < 4; count++) policy.failed('other', 0)
    policy.foreground(500)
    assert.equal(policy.deadline, 500)
    policy.failed('other', 500)
    assert.equal(policy.deadline, 4_500)
    policy.failed('other', 1_000, 60_000)
    policy.foreground(2_000)
    assert.equal(policy.deadline, 61_000)
    policy.stop()
    policy.foreground(3_000)
    assert.equal(policy.deadline, Infinity)
})

test('timeouts: the carrier, welcome, a frame (C-60)', () => {
    const s = new Scenario()
    s.run((engine, now) => engine.connect(now))
    s.pass(14_999)
    assert.equal(s.isEnded, false)
    s.pass(1)
    assert.equal(s.isEnded, true)
    s.pass(300)
    s.up()
    s.pass(9_999)
    assert.equal(s.isEnded, false)
    s.pass(1)
    assert.equal(s.isEnded, true)
    const slow = new Scenario().online()
    slow.run((engine, now) => engine.carrierData(slow.connection, new Uint8Array([0x8d, 0x4d]), now))
    const begin = slow.now
    while (!slow.isEnded) slow.pass(100)
    assert(slow.now - begin <= 30_000, String(slow.now - begin))
})

test('leaving: goaway none behind everything, and the link ends (C-7, C-42)', () => {
    const s = new Scenario().online()
    s.run((engine, now) => engine.disconnect(now))
    assert.equal(s.last('goaway').fields.code, Code.none)
    assert.equal(s.isEnded, true)
    s.lose()
    s.pass(100_000)
    assert.equal(s.connections.length, 1)
    s.connect()
    assert.equal(s.last('hello').fields.resume, undefined)
})

test('floods of pings and unknown frames end the connection (W-71, W-73)', () => {
    let s = new Scenario().online()
    for (let index = 0; index < 110 && cutOf(s) === undefined; index++) s.serve('ping', { nonce: 1n })
    assert.equal(cutOf(s), Code.controlFlood)
    s = new Scenario().online()
    for (let index = 0; index < 1_300 && cutOf(s) === undefined; index++) {
        s.serve('ack', { linkCredit: 0n, sessionAck: [] })
    }
    assert.equal(cutOf(s), Code.controlFlood)
})

test('typing ends after 10 s, and with absence (R-39)', () => {
    const s = new Scenario().online()
    s.serve('transient', { typing: 1, sender: 'bob' }, { session: 1 })
    s.serve('transient', { typing: 1, sender: 'eve' }, { session: 1 })
    s.serve('transient', { presence: 0, sender: 'eve' }, { session: 1 })
    s.pass(10_100)
    assert.deepEqual(s.eventsOf('typing').map(({ account, isTyping }) => [account, isTyping]),
        [['bob', true], ['eve', true], ['eve', false], ['bob', false]])
})

test('receipts are collected, and sent again with each opened (R-33)', () => {
    const s = new Scenario().online()
    for (let offset = 1; offset <= 3; offset++) {
        s.serve('data', s.message(offset), { session: 1 })
        s.engine.room('lobby').acknowledge(BigInt(offset), 0n, s.now)
    }
    s.pass(25)
    const receipts = s.frames.filter(({ name }) => name === 'receipt')
    assert.deepEqual(receipts.map(({ fields }) => [fields.receiptKind, fields.upTo]), [[1, 3n]])
    s.engine.room('lobby').acknowledge(3n, 2n, s.now)
    s.pass(25)
    assert.deepEqual([s.last('receipt').fields.receiptKind, s.last('receipt').fields.upTo], [2, 2n])
})

test('events of an abandoned connection are ignored (C-4)', () => {
    const s = new Scenario().online()
    const old = s.connection
    s.lose()
    s.pass(12_000)
    const bytes = s.bytes('goaway', { code: Code.revoked })
    s.run((engine, now) => engine.carrierData(old, bytes, now))
    s.run((engine, now) => engine.carrierEnded(old, false, now))
    assert.equal(s.connections.length, 2)
    assert.notEqual(s.engine.connectionState, 'stopped')
})
