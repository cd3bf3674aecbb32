// Clients against a relay over TCP.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { Client } from '../build/index.js'
import { tcp } from '../build/carriers/tcp.js'
import { MemoryOutbox } from '../build/outbox/memory.js'
import { binary, Relay, sleep, until } from './support/relay.mjs'

const skip = binary === undefined ? 'MARTLET names no relay' : false
let relay
const clients = []

function client(account, options = {}) {
    const made = new Client({ url: `martlet://127.0.0.1:${relay.port}`, account, connect: tcp(), ...options })
    clients.push(made)
    return made
}

before(async () => {
    if (!skip) relay = await Relay.start()
})

after(async () => {
    for (const each of clients) await each.close()
    await relay?.stop()
})

/** Collects messages until there are so many. */
async function collect(room, count, into = []) {
    for await (const message of room.messages) {
        into.push(message)
        if (into.length >= count) break
    }
    return into
}

test('two clients, receipts, typing and presence', { skip }, async () => {
    const ada = client('ada').room('lobby', { offset: 0n })
    const bobClient = client('bob')
    const bob = bobClient.room('lobby', { offset: 0n })
    const sent = await ada.send('hello')
    assert.equal(await sent.accepted, 1n)
    const [message] = await collect(bob, 1)
    assert.deepEqual([message.text, message.sender, message.offset], ['hello', 'ada', 1n])
    await until(() => ada.members.has('bob'))
    bob.setTyping(true)
    await until(() => ada.typing.has('bob'), 5_000, 'typing')
    bob.setTyping(false)
    await until(() => !ada.typing.has('bob'), 5_000, 'end of typing')
    const next = bob.messages[Symbol.asyncIterator]().next()
    bob.markRead(1n)
    await until(() => ada.delivered.get('bob') === 1n || ada.read.get('bob') === 1n, 5_000, 'receipt')
    await until(() => ada.read.get('bob') === 1n, 5_000, 'read receipt')
    const reply = await ada.reply(message, 'again')
    await reply.accepted
    assert.equal((await next).value.text, 'again')
    await bobClient.close()
    await until(() => !ada.members.has('bob'), 5_000, 'absence')
})

test('history by pages, and a start in the tail', { skip }, async () => {
    const ada = client('ada history').room('history', { offset: 0n })
    const all = await Promise.all(Array.from({ length: 300 }, (_, index) => ada.send(`message ${index}`)))
    await Promise.all(all.map(({ accepted }) => accepted))
    const late = client('bob history').room('history', { tail: 10 })
    const tail = await collect(late, 10)
    assert.deepEqual(tail.map(({ text }) => text), Array.from({ length: 10 }, (_, index) => `message ${290 + index}`))
    const before = []
    for (let from = tail[0].offset; from > 1n;) {
        const page = await late.history({ before: from }, 100)
        assert(page.length > 0)
        before.unshift(...page)
        from = page[0].offset
    }
    assert.deepEqual(before.map(({ text }) => text), Array.from({ length: 290 }, (_, index) => `message ${index}`))
    const all2 = await collect(client('eve').room('history', { offset: 0n }), 300)
    assert.deepEqual(all2.map(({ offset }) => offset), Array.from({ length: 300 }, (_, index) => BigInt(index + 1)))
})

test('1,000 messages while the relay is killed five times: each once, in order', { skip }, async () => {
    const publisher = client('publisher').room('kill', { offset: 0n })
    const reader = client('reader').room('kill', { offset: 0n })
    const received = []
    const reading = collect(reader, 1_000, received)
    const outcomes = []
    const killing = (async () => {
        for (let kill = 1; kill <= 5; kill++) {
            await until(() => received.length >= kill * 160, 60_000, `message ${kill * 160}`)
            await relay.kill()
            await sleep(100)
            await relay.run()
        }
    })()
    for (let index = 0; index < 1_000; index++) {
        outcomes.push((await publisher.send(`message ${index}`)).accepted)
        if (index % 5 === 0) await sleep(5)
    }
    const offsets = await Promise.all(outcomes)
    await killing
    await reading
    await sleep(200)
    assert.deepEqual(received.map(({ text }) => text), Array.from({ length: 1_000 }, (_, index) => `message ${index}`))
    assert.equal(received.length, 1_000)
    assert.deepEqual(offsets.map((offset, index) => offset === 0n ? BigInt(index + 1) : offset),
        received.map(({ offset }) => offset))
})

test('400 messages over connections that are cut at random bytes: resumed, each once, in order', { skip }, async () => {
    let state = 12_345
    const next = (limit) => (state = (state * 1_103_515_245 + 12_345) % 2_147_483_648) % limit
    let cuts = 0
    let resumes = 0
    const proxy = createServer((socket) => {
        const upstream = connect({ host: '127.0.0.1', port: relay.port })
        // A welcome has the container resume exactly when the link was resumed (W-36).
        upstream.once('data', (bytes) => {
            if (bytes.readUInt16BE(6) === 0x4002 && bytes.includes(Buffer.from('01020000', 'hex'))) resumes++
        })
        let left = 500 + next(12_000)
        const cut = () => {
            cuts++
            socket.destroy()
            upstream.destroy()
        }
        for (const [from, to] of [[socket, upstream], [upstream, socket]]) {
            from.on('data', (bytes) => {
                to.write(bytes.subarray(0, Math.max(left, 0)))
                left -= bytes.length
                if (left <= 0) setImmediate(cut)
            })
            from.on('error', () => undefined)
            from.on('close', () => to.destroy())
        }
    })
    await new Promise((resolve) => proxy.listen(0, '127.0.0.1', resolve))
    const url = `martlet://127.0.0.1:${proxy.address().port}`
    const made = ['cut publisher', 'cut reader'].map((account) => new Client({ url, account, connect: tcp() }))
    clients.push(...made)
    const received = []
    const reading = collect(made[1].room('cut', { offset: 0n }), 400, received)
    const publisher = made[0].room('cut', { offset: 0n })
    const outcomes = []
    for (let index = 0; index < 400; index++) {
        outcomes.push((await publisher.send(`message ${index}`)).accepted)
        if (index % 10 === 0) await sleep(5)
    }
    await Promise.all(outcomes)
    await reading
    await sleep(200)
    assert.deepEqual(received.map(({ text }) => text), Array.from({ length: 400 }, (_, index) => `message ${index}`))
    assert(cuts >= 3 && resumes >= 2, `${cuts} cuts, ${resumes} resumes`)
    console.log(`# ${cuts} connections were cut, ${resumes} links were resumed`)
    for (const each of made) await each.close()
    proxy.close()
})

test('a file is uploaded and downloaded', { skip }, async () => {
    const room = client('ada files').room('files', { offset: 0n })
    const bytes = new Uint8Array(200_000).map((_, index) => index * 7 + (index >> 8))
    const steps = []
    const sent = await room.sendFile(new Blob([bytes]), { name: 'a.bin', mediaType: 'application/octet-stream' },
        (count) => steps.push(count))
    await sent.accepted
    assert.equal(steps.at(-1), 200_000)
    const [message] = await collect(room, 1)
    const { parseContent } = await import('../build/index.js')
    const { digest, byteCount } = parseContent(message.content, 'digest byteCount')
    assert.equal(byteCount, 200_000n)
    assert.deepEqual(await room.download(digest), bytes)
    await assert.rejects(room.download(new Uint8Array(32)), { code: 'unknownAttachment' })
})

test('a client that is closed during an upload: it rejects, and nothing is due', { skip }, async () => {
    const ada = client('ada leaves')
    let uploading
    globalThis.reportError = ({ message }) => assert.equal(message, 'a fault of the application')
    await new Promise((resolve) => {
        uploading = ada.room('leaves').sendFile(new Blob([new Uint8Array(3_000_000)]), {}, (bytes) => {
            if (bytes > 0) resolve()
            throw new Error('a fault of the application')
        })
    })
    await ada.close()
    await assert.rejects(uploading, { code: 'closed' })
    delete globalThis.reportError
})

test('close stores and reports what was taken; with a timeout it waits for the relay', { skip }, async () => {
    const bob = client('bob waits')
    const room = bob.room('taken', { offset: 0n })
    for (const text of ['one', 'two', 'three']) await (await room.send(text)).accepted
    const storage = new MemoryOutbox()
    const ada = client('ada takes', { storage })
    const iterator = ada.room('taken', { stored: true, tail: 10 }).messages[Symbol.asyncIterator]()
    for (const text of ['one', 'two']) assert.equal((await iterator.next()).value.text, text)
    assert.equal((await iterator.next()).value.text, 'three')
    await ada.room('taken').send('four')
    await ada.close({ timeout: 10_000 })
    await until(() => room.delivered.get('ada takes') === 2n, 5_000, 'a receipt')
    const again = client('ada takes', { storage }).room('taken', { stored: true })
    assert.deepEqual((await collect(again, 2)).map(({ text }) => text), ['three', 'four'])
    assert.equal((await room.history({ before: 5n })).at(-1).text, 'four')
})

test('a room that is refused rejects its messages, and the next one', { skip }, async () => {
    const folder = mkdtempSync(join(tmpdir(), 'martlet-ts-'))
    after(() => rmSync(folder, { recursive: true }))
    writeFileSync(join(folder, 'rules'), 'deny in secret to everyone\nallow all in * to everyone\n')
    const guarded = await Relay.start(['--allow-all', '--rooms', join(folder, 'rules')])
    const ada = new Client({ url: `martlet://127.0.0.1:${guarded.port}`, account: 'ada', connect: tcp() })
    const room = ada.room('secret')
    await assert.rejects((await room.send('one')).accepted, { code: 'roomForbidden' })
    await assert.rejects((await room.send('two')).accepted, { code: 'roomForbidden' })
    assert.deepEqual((await room.outgoing()).map(({ state, text }) => [state, text]),
        [['failed', 'one'], ['failed', 'two']])
    await ada.close()
    await guarded.stop()
})

test('the rooms of an account', { skip }, async () => {
    const ada = client('ada rooms')
    await ada.setMembership('join', 'kitchen')
    await ada.setMembership('join', 'attic')
    await (await ada.room('attic').send('dust')).accepted
    const rooms = await ada.rooms()
    assert.deepEqual(rooms.map(({ room, membership }) => [room, membership]),
        [['attic', 'joined'], ['kitchen', 'joined']])
    const changed = new Promise((resolve) => ada.on('rooms', (entry) => entry?.room === 'cellar' && resolve(entry)))
    await ada.setMembership('join', 'cellar')
    assert.equal((await changed).membership, 'joined')
    await assert.rejects(ada.setMembership('join', 'x'.repeat(129)), { code: 'invalidValue' })
})

test('a message whose time to live ends without a relay fails', { skip }, async () => {
    const other = new Client({ url: 'martlet://127.0.0.1:1', account: 'ada', connect: tcp() })
    clients.push(other)
    const sent = await other.room('nowhere').send('late', { timeToLive: 300 })
    await assert.rejects(sent.accepted, { code: 'expired' })
    const kept = await other.room('nowhere').outgoing()
    assert.equal(kept[0].state, 'failed')
    const withTime = await client('ada time').room('time').send('in time', { timeToLive: 60_000 })
    assert.equal(await withTime.accepted, 1n)
})

test('a closed room publishes what it has; a content that is too long fails', { skip }, async () => {
    const ada = client('ada closes')
    const room = ada.room('closed')
    const sent = await Promise.all(Array.from({ length: 50 }, (_, index) => room.send(`message ${index}`)))
    await room.close()
    assert.deepEqual(await Promise.all(sent.map(({ accepted }) => accepted)).then((list) => list.length), 50)
    const long = await ada.room('long').send('x'.repeat(1_048_500))
    await assert.rejects(long.accepted, { code: 'messageTooLarge' })
    const longest = 'x'.repeat(1_048_576 - 176 - 38 - 6)
    const fits = await ada.room('long').send(longest)
    assert.equal(await fits.accepted, 1n)
    const [message] = await collect(client('bob reads').room('long', { offset: 0n }), 1)
    assert.equal(message.text, longest)
    await assert.rejects(ada.room('long').publish(0xf000, new Uint8Array([1])), { code: 'malformedTLV' })
})

test('tokens and passwords', { skip }, async () => {
    const state = (made, wanted) => new Promise((resolve) => made.on('state', (event) =>
        wanted.includes(event.state) && resolve(event)))
    const folder = mkdtempSync(join(tmpdir(), 'martlet-ts-'))
    after(() => rmSync(folder, { recursive: true }))
    const tokens = join(folder, 'tokens')
    writeFileSync(tokens, 'ada right\n')
    const passwords = join(folder, 'passwords')
    spawnSync(binary, ['user', '--file', passwords, 'add', 'ada'], { input: 'open sesame\n' })
    for (const [options, right, wrong] of [
        [['--tokens', tokens], { token: async () => 'right' }, { token: 'wrong' }],
        [['--passwords', passwords, '--plaintext'], { password: 'open sesame', permitPasswordWithoutTLS: true },
            { password: 'open', permitPasswordWithoutTLS: true }],
    ]) {
        const guarded = await Relay.start(options)
        const url = `martlet://127.0.0.1:${guarded.port}`
        const good = new Client({ url, account: 'ada', connect: tcp(), ...right })
        assert.equal(await (await good.room('vault').send('in')).accepted, 1n)
        await good.close()
        const bad = new Client({ url, account: 'ada', connect: tcp(), ...wrong })
        assert.equal((await state(bad, ['stopped'])).code, 'unauthenticated')
        await bad.close()
        await guarded.stop()
    }
    assert.throws(() => new Client({ url: 'wss://relay', account: 'ada', password: 'x' }),
        { code: 'passwordNotPermitted' })
})

test('TLS: a trusted certificate, and one that is not', { skip }, async () => {
    const folder = mkdtempSync(join(tmpdir(), 'martlet-ts-'))
    after(() => rmSync(folder, { recursive: true }))
    spawnSync(binary, ['dev-cert', '--directory', folder])
    const secure = await Relay.start(['--allow-all', '--certificate', join(folder, 'server.pem'),
        '--key', join(folder, 'server.key')])
    const url = `martlets://localhost:${secure.port}`
    const good = new Client({ url, account: 'ada', connect: tcp(readFileSync(join(folder, 'ca.pem'))) })
    assert.equal(await (await good.room('vault').send('in')).accepted, 1n)
    await good.close()
    const wary = new Client({ url, account: 'ada', connect: tcp() })
    const states = []
    wary.on('state', ({ state }) => states.push(state))
    const sent = await wary.room('vault').send('out', { timeToLive: 700 })
    await assert.rejects(sent.accepted, { code: 'expired' })
    assert(!states.includes('online'))
    await wary.close()
    await secure.stop()
})
