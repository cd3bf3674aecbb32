// The application's interface without a relay: the outbox as the owner of a message's state, failures, and the end.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Client } from '../build/index.js'
import { LocalCore } from '../build/api/core.js'
import { MemoryOutbox } from '../build/outbox/memory.js'
import { bounds } from '../build/outbox/outbox.js'
import { bytesOfTLVs, textContent } from '../build/messages/tlvs.js'
import { Code, Scenario } from './support/scenario.mjs'

/** Performs what waits for resolved promises. */
const turn = () => new Promise((resolve) => setImmediate(resolve))

/** The core of a client in virtual time, with its outbox. */
class CoreScenario extends Scenario {
    reported = []

    constructor(outbox = new MemoryOutbox()) {
        super()
        this.outbox = outbox
        this.core = new LocalCore(this.engine, (onEvent) => {
            this.onEvent = onEvent
            return { run: (action) => this.run(action), close: () => this.run((e, now) => e.disconnect(now)) }
        }, 'ada', 7n, outbox, (event) => this.reported.push(event))
    }

    perform(output) {
        super.perform(output)
        if (output.type === 'event') this.onEvent(output.event)
    }

    /** Online, with a room that is open on session 1. */
    async started() {
        this.core.start(await this.outbox.messages())
        this.up()
        this.welcome()
        await this.core.command({ op: 'open', room: 'lobby', cursor: 0n })
        this.serve('opened', { head: 0n, first: 1n, log: 9n, member: ['ada'] }, { session: 1 })
        this.ack()
        return this
    }

    async send(key, fields = {}) {
        const messages = await this.outbox.add([{ key, room: 'lobby', kind: 0x1001, content: textContent(key),
            ...fields }])
        await this.core.command({ op: 'publish', messages })
        await turn()
    }

    accept(counter) {
        this.serve('accepted', { acceptedRun: [{ counter, count: 1, offset: counter }] }, { session: 1 })
    }

    /** The outcomes of a message, and the errors of the storage. */
    outcomes() {
        return this.reported.filter(({ type, state }) => type === 'error' || (type === 'outcome' && state !== 'sent'))
            .map(({ key, state, code }) => key === undefined ? 'error' : [key, state, code])
    }
}

/** An outbox of which one method fails. */
function failing(method) {
    const outbox = new MemoryOutbox()
    outbox.break = () => {
        outbox[method] = () => Promise.reject(new Error('the disk is full'))
    }
    outbox.mend = () => delete outbox[method]
    return outbox
}

test('an outcome is stored before it is reported; until then the message is not cancelled', async () => {
    const outbox = new MemoryOutbox()
    let store
    outbox.accept = (list) => new Promise((resolve) => {
        store = () => resolve(MemoryOutbox.prototype.accept.call(outbox, list))
    })
    const s = await new CoreScenario(outbox).started()
    await s.send('one')
    s.accept(1n)
    await turn()
    assert.deepEqual(s.outcomes(), [])
    assert.equal(await s.core.command({ op: 'cancel', room: 'lobby', key: 'one' }), false)
    store()
    await turn()
    assert.deepEqual(s.outcomes(), [['one', 'accepted', 0]])
    assert.deepEqual(await outbox.messages(), [])
    assert.deepEqual(await outbox.outcome('one'), { state: 'accepted', offset: 1n })
    assert.equal(await s.core.command({ op: 'cancel', room: 'lobby', key: 'one' }), false)
})

test('a cancelled message has an outcome, and is not published', async () => {
    const s = await new CoreScenario().started()
    s.serve('suspend', {}, { session: 1 })
    await s.send('one')
    assert.equal(await s.core.command({ op: 'cancel', room: 'lobby', key: 'one' }), true)
    assert.deepEqual(s.outcomes(), [['one', 'failed', Code.cancelled]])
    s.serve('resume', {}, { session: 1 })
    assert.equal(s.count('data'), 0)
})

for (const [method, outcome] of [
    ['accept', ['one', 'accepted', 0]],
    ['fail', ['one', 'failed', Code.forbidden]],
    ['mark', ['one', 'failed', Code.storeUnavailable]],
]) {
    test(`a failing ${method} of the outbox: the outcome and an error are reported`, async () => {
        const s = await new CoreScenario(failing(method)).started()
        s.outbox.break()
        await s.send('one', method === 'mark' ? { timeToLive: 60_000 } : {})
        if (method === 'accept') s.accept(1n)
        if (method === 'fail') s.serve('receipt', { receiptKind: 3, counter: 1n, code: Code.forbidden }, { session: 1 })
        await turn()
        assert.deepEqual(s.outcomes(), ['error', outcome])
        await s.send('two')
        assert.equal(s.last('data').fields.counter, 2n)
    })
}

test('a failing remove: cancel rejects, and the outcome is unknown', async () => {
    const s = await new CoreScenario(failing('remove')).started()
    s.outbox.break()
    s.serve('suspend', {}, { session: 1 })
    await s.send('one')
    await assert.rejects(s.core.command({ op: 'cancel', room: 'lobby', key: 'one' }))
    assert.deepEqual(s.outcomes(), [['one', 'failed', 0x10000]])
})

test('a failing read of the outbox is an error, and the next message is published with the first', async (context) => {
    context.mock.timers.enable({ apis: ['setTimeout'] })
    const s = await new CoreScenario(failing('messages')).started()
    s.outbox.break()
    // A different tab has stored a message with a lower counter.
    await s.outbox.add([{ key: 'one', room: 'lobby', kind: 0x1001, content: textContent('one') }])
    await s.send('two')
    assert.deepEqual([s.outcomes(), s.count('data')], [['error'], 0])
    s.outbox.mend()
    context.mock.timers.tick(1_000)
    await turn()
    assert.deepEqual(s.frames.filter(({ name }) => name === 'data').map(({ fields }) => fields.counter), [1n, 2n])
})

test('a message that is being read from the outbox is published or cancelled, not both', async () => {
    const s = await new CoreScenario().started()
    const [one, two] = await s.outbox.add(['one', 'two'].map((key) =>
        ({ key, room: 'lobby', kind: 0x1001, content: textContent(key) })))
    // A different tab has stored the first one, so that the outbox is read.
    let answer
    s.outbox.messages = () => new Promise((resolve) => {
        answer = () => resolve([one, two])
    })
    void s.core.command({ op: 'publish', messages: [two] })
    const cancelled = s.core.command({ op: 'cancel', room: 'lobby', key: 'two' })
    await turn()
    answer()
    assert.equal(await cancelled, false)
    assert.deepEqual([s.last('data').fields.counter, (await s.outbox.outcome('two')).state], [2n, 'queued'])
})

test('the outbox in memory bounds outcomes, failed messages and cursors (C-84)', async () => {
    const outbox = new MemoryOutbox()
    const draft = (key) => ({ key, room: 'lobby', kind: 0x1001, content: textContent(key) })
    for (let index = 0n; index < 2_000n; index++) {
        const [{ counter }] = await outbox.add([draft(`key ${index}`)])
        if (index % 2n === 0n) await outbox.fail(counter, Code.expired, '')
        else await outbox.accept([{ counter, offset: counter }])
        await outbox.setCursor(`room ${index}`, { log: 1n, offset: 1n })
    }
    assert.equal((await outbox.messages()).length, bounds.failed)
    for (let index = 0; index < 200; index++) await outbox.accept([{ counter: 0n, offset: 1n }])
    const known = await Promise.all(Array.from({ length: 2_000 }, (_, index) => outbox.outcome(`key ${index}`)))
    assert.equal(known.filter(({ state }) => state === 'accepted').length, 1_000)
    for (let index = 0; index < 100; index++) {
        const [{ counter }] = await outbox.add([draft(`later ${index}`)])
        await outbox.accept([{ counter, offset: counter }])
    }
    assert.equal((await outbox.outcome('key 151')).state, 'unknown')
    assert.equal((await outbox.outcome('key 153')).state, 'accepted')
    assert.equal(await outbox.cursor('room 1743'), undefined)
    assert.deepEqual(await outbox.cursor('room 1744'), { log: 1n, offset: 1n })
    for (let index = 0; index < bounds.messages; index++) await outbox.add([draft(`full ${index}`)])
    await assert.rejects(outbox.add([draft('beyond')]), { code: 'outboxFull' })
    assert.equal(await outbox.remove('full 0'), true)
    assert.equal((await outbox.add([draft('fits')])).length, 1)
})

test('the outbox in memory reads the contents of no other message to store one', async () => {
    let reads = 0
    const content = { get length() {
        reads++
        return 1
    } }
    const outbox = new MemoryOutbox()
    for (let index = 0; index < 1_000; index++) {
        await outbox.add([{ key: `key ${index}`, room: 'lobby', kind: 0x1001, content }])
    }
    assert(reads <= 3_000, String(reads))
})

test('a failing renewal of the device is an error, and is tried again after a second (C-103)', async (context) => {
    context.mock.timers.enable({ apis: ['setTimeout'] })
    const s = await new CoreScenario(failing('renewDevice')).started()
    const device = await s.outbox.device()
    s.outbox.break()
    s.onEvent({ type: 'reused' })
    await turn()
    assert.deepEqual([s.outcomes(), await s.outbox.device()], [['error'], device])
    s.outbox.mend()
    context.mock.timers.tick(1_000)
    await turn()
    assert.notEqual(await s.outbox.device(), device)
    assert.equal(s.last('goaway').fields.code, Code.none)
})

// MARK: Clients without a relay

/** A client whose connections do not come up. */
function offline(options = {}) {
    const connect = (_, { ended }) => ({ send: () => undefined, end: () => queueMicrotask(() => ended(false)) })
    return new Client({ url: 'martlet://relay:1', account: 'ada', connect, ...options })
}

test('close rejects what is pending and every later call with `closed`, and nothing is due', async () => {
    const client = offline()
    const room = client.room('lobby')
    const reading = room.messages[Symbol.asyncIterator]().next()
    const message = await room.send('one')
    await turn()
    const pending = [message.accepted, client.rooms(), room.history({ before: 9n }), client.invite('bob', 'lobby'),
        room.sendFile(new Blob(['x'])), room.download(new Uint8Array(32))].map((each) =>
        assert.rejects(each, { code: 'closed' }))
    await turn()
    await Promise.all([client.close(), client.close()])
    await Promise.all(pending)
    assert.deepEqual(await reading, { done: true, value: undefined })
    for (const call of [() => room.send('two'), () => room.history({ before: 9n }), () => client.rooms(),
        () => room.sendFile(new Blob(['x'])), () => room.outgoing(), () => room.cancel(message.key),
        () => room.retry(message.key), () => client.setMembership('join', 'lobby')]) {
        await assert.rejects(call(), { code: 'closed' })
    }
    assert.throws(() => client.room('kitchen'), { code: 'closed' })
    client.connect()
    room.setTyping(true)
    room.markRead(1n)
    await turn()
    assert.equal(client.state, 'offline')
    assert.equal(process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length, 0)
})

test('close with a timeout waits for outcomes, at most that long', async (context) => {
    context.mock.timers.enable({ apis: ['setTimeout'] })
    const client = offline()
    const message = await client.room('lobby').send('one', { timeToLive: 60_000 })
    let isClosed = false
    const closing = client.close({ timeout: 5_000 }).then(() => {
        isClosed = true
    })
    context.mock.timers.tick(4_999)
    await turn()
    assert.equal(isClosed, false)
    context.mock.timers.tick(1)
    await closing
    await assert.rejects(message.accepted, { code: 'closed' })
    const other = offline()
    const cancelled = await other.room('lobby').send('one')
    const waiting = other.close({ timeout: 5_000 })
    void other.room('lobby').cancel(cancelled.key).catch(() => undefined)
    await waiting
    await assert.rejects(cancelled.accepted, { code: 'cancelled' })
})

test('a message of a new client is cancelled at once: it rejects, and an event reports it', async () => {
    const client = offline()
    const room = client.room('lobby')
    const events = []
    room.on('outgoing', ({ state, code }) => events.push([state, code]))
    const message = await room.send('one')
    assert.equal(await room.cancel(message.key), true)
    await assert.rejects(message.accepted, { code: 'cancelled' })
    assert.deepEqual([message.state, events], ['failed', [['failed', 'cancelled']]])
    assert.equal(await room.cancel(message.key), false)
    await client.close()
})

test('an error of a handler is reported, and the client continues', async () => {
    const errors = []
    globalThis.reportError = (error) => errors.push(error.message)
    try {
        const client = offline()
        const states = []
        client.on('state', () => {
            throw new Error('a fault of the application')
        })
        client.on('state', ({ state }) => states.push(state))
        await turn()
        assert.deepEqual([states[0], errors[0]], ['connecting', 'a fault of the application'])
        const room = client.room('lobby')
        room.on('outgoing', () => {
            throw new Error('a second one')
        })
        const message = await room.send('one')
        assert.equal(await room.cancel(message.key), true)
        assert.equal(errors.at(-1), 'a second one')
        await client.close()
    } finally {
        delete globalThis.reportError
    }
})

test('a storage that fails at the start: `stopped`, and every call rejects with `storageUnavailable`', async () => {
    for (const method of ['device', 'messages']) {
        const storage = failing(method)
        storage.break()
        const client = offline({ storage })
        const room = client.room('lobby')
        const reading = room.messages[Symbol.asyncIterator]().next()
        const stopped = new Promise((resolve) => client.on('state', resolve))
        await assert.rejects(reading, { code: 'storageUnavailable' })
        const { state, code } = await stopped
        assert.deepEqual([state, code], ['stopped', 'storageUnavailable'])
        await assert.rejects(client.rooms(), { code: 'storageUnavailable' })
        await client.close()
    }
})

test('a storage that fails later: the call rejects, or an event reports it', async () => {
    const calls = {
        add: (room) => room.send('two'),
        messages: (room) => room.outgoing(),
        remove: (room, key) => room.cancel(key),
        retry: (room, key) => room.retry(key),
        outcome: async (room) => (await room.send('two', { key: 'two' })).accepted,
        cursor: (room, _, client) => client.room('kitchen', { stored: true }).messages[Symbol.asyncIterator]().next(),
    }
    for (const [method, call] of Object.entries(calls)) {
        const storage = failing(method)
        const client = offline({ storage })
        const room = client.room('lobby')
        const { key } = await room.send('one')
        storage.break()
        await assert.rejects(call(room, key, client), { code: 'storageUnavailable' }, method)
        storage.mend()
        const later = await room.send('three')
        assert.equal(await room.cancel(later.key), true)
        await client.close()
    }
})

test('arguments out of their range are refused with a code', async () => {
    const client = offline()
    const room = client.room('lobby')
    for (const from of [{ offset: 0 }, { offset: -1n }, { offset: 1n << 64n }, { offset: 0n, log: null }, {},
        { tail: 1.5 }, { tail: NaN }, { tail: Infinity }, { tail: -1 }, { tail: 2 ** 32 },
        { stored: true, tail: 1.5 }]) {
        assert.throws(() => client.room('kitchen', from), { code: 'invalidValue' }, String(Object.values(from)))
    }
    const target = { sender: 'bob', device: 1n, counter: 1n, offset: 1n }
    const long = 'x'.repeat(257)
    const refused = [room.send(''), room.publish(99_999_999, textContent('x')), room.publish(1.5, textContent('x')),
        room.publish(0x1001, new Uint8Array(0)), room.edit(target, ''), room.reply(target, ''), room.react(target, ''),
        room.react(target, long.slice(0, 65)), room.publish(0x100e, bytesOfTLVs([0x0203, long])),
        room.sendFile(new Blob(['x']), { name: long }), room.sendFile(new Blob(['x']), { mediaType: long }),
        room.sendFile(new Blob(['x']), { thumbnail: new Uint8Array(16_385) }), room.send('x', { timeToLive: NaN }),
        room.send('x', { timeToLive: 2 ** 32 }), room.history({ since: 1.5 }), room.history({ since: -1 }),
        room.history({ before: 5 }), room.history({ before: 5n }, 0), room.history({ before: 5n }, 257)]
    for (const [index, each] of refused.entries()) {
        await assert.rejects(each, ({ code }) => ['invalidValue', 'missingField'].includes(code), String(index))
    }
    await assert.rejects(room.send(undefined), TypeError)
    assert.throws(() => room.markRead(5), { code: 'invalidValue' })
    assert.deepEqual(await room.outgoing(), [])
    assert.throws(() => new Client({ url: 'ws://127.0.0.1:1/martlet', account: 'ada', connect: undefined }), TypeError)
    assert.throws(() => new Client({ url: 'martlet://relay:1', account: 'ada' }), TypeError)
    await client.close()
})

test('a key belongs to one room', async () => {
    const client = offline()
    const first = await client.room('lobby').send('one', { key: 'key' })
    assert.equal(await client.room('lobby').send('one', { key: 'key' }), first)
    await assert.rejects(client.room('kitchen').send('one', { key: 'key' }), { code: 'keyInUse' })
    await client.close()
})
