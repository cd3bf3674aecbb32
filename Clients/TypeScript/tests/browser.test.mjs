// The client in headless Chromium: offline, reload, tabs, sleep.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { Client } from '../build/index.js'
import { tcp } from '../build/carriers/tcp.js'
import { Bridge } from './support/bridge.mjs'
import { Browser, chromium } from './support/chromium.mjs'
import { binary, Relay, sleep, until } from './support/relay.mjs'

const skip = binary === undefined || chromium === undefined ? 'MARTLET or chromium is missing' : false
const folder = (path) => fileURLToPath(new URL(path, import.meta.url))
const speaksWebSocket = process.env.MARTLET_WEBSOCKET !== undefined
let relay
let bridge
let browser
const clients = []

before(async () => {
    if (skip) return
    // A relay that speaks WebSocket is used directly where the test does not need to cut the path.
    relay = await Relay.start(speaksWebSocket ? ['--allow-all', '--web-origin', '*'] : undefined)
    bridge = await Bridge.start(relay.port, {
        tests: folder('pages'), bundle: folder('../bundle'), chat: folder('../../../Examples/WebChat'),
    })
    browser = await Browser.start()
})

after(async () => {
    if (skip) return
    for (const client of clients) await client.close()
    await browser.stop()
    await bridge.stop()
    await relay.stop()
})

async function open(needsBridge = false) {
    const query = speaksWebSocket && !needsBridge ? `?url=ws://127.0.0.1:${relay.port}/martlet` : ''
    const page = await browser.page(`http://127.0.0.1:${bridge.port}/tests/index.html${query}`)
    await page.until('window.isReady === true')
    return page
}

/** A client in Node that collects the messages of a room. */
function reader(room) {
    const url = `martlet://127.0.0.1:${relay.port}`
    const client = new Client({ url, account: `reader of ${room}`, connect: tcp() })
    clients.push(client)
    const opened = client.room(room, { offset: 0n })
    const received = []
    void (async () => {
        for await (const message of opened.messages) received.push(message)
    })()
    return { room: opened, received }
}

const numbers = (count) => Array.from({ length: count }, (_, index) => `message ${index}`)

test('from send to accepted', { skip }, async () => {
    const page = await open()
    const times = await page.evaluate(`(async () => {
        start('ada speed', 'speed')
        await (await room.send('first')).accepted
        const times = []
        for (let index = 0; index < 300; index++) {
            const begin = performance.now()
            await (await room.send('message ' + index)).accepted
            times.push(performance.now() - begin)
        }
        await client.close()
        return times.sort((a, b) => a - b)
    })()`)
    console.log(`# send to accepted: p50 ${times[150].toFixed(2)} ms, p99 ${times[297].toFixed(2)} ms (bar: p50 5 ms)`)
    await page.close()
})

test('1,000 messages, five kills of the relay, five reloads: each once, in order', { skip }, async () => {
    const page = await open()
    const { received } = reader('reloads')
    const begin = `start('ada reloads', 'reloads'); window.sending = sendNumbers(1000, 2); true`
    await page.evaluate(begin)
    for (let round = 1; round <= 5; round++) {
        await until(() => received.length >= round * 150, 60_000, `message ${round * 150}`)
        await relay.kill()
        await page.reload()
        await relay.run()
        await page.until('window.isReady === true')
        await page.evaluate(begin)
    }
    assert.equal(await page.evaluate('sending'), 'sent')
    await until(() => received.length >= 1_000, 30_000, 'all messages')
    await sleep(300)
    assert.deepEqual(received.map(({ text }) => text), numbers(1_000))
    await page.until('received.length === 1000')
    assert.deepEqual(await page.evaluate('texts()'), numbers(1_000))
    assert.deepEqual(page.errors, [])
    await page.close()
})

test('offline: messages wait, and are sent when the path is back', { skip }, async () => {
    const page = await open(true)
    const { received, room } = reader('offline')
    await page.evaluate(`start('ada offline', 'offline'); room.send('before').then((m) => m.accepted).then(String)`)
    bridge.down()
    await page.command('Network.emulateNetworkConditions',
        { offline: true, latency: 0, downloadThroughput: -1, uploadThroughput: -1 })
    await page.until(`client.state !== 'online'`)
    await (await room.send('meanwhile')).accepted
    await page.evaluate(`room.send('in the dark').then((m) => { window.dark = m }); true`)
    await page.until(`window.dark?.state === 'queued'`)
    bridge.up()
    await page.command('Network.emulateNetworkConditions',
        { offline: false, latency: 0, downloadThroughput: -1, uploadThroughput: -1 })
    await page.until(`window.dark.state === 'accepted'`)
    await page.until(`received.length === 3`)
    assert.deepEqual(await page.evaluate('texts()'), ['before', 'meanwhile', 'in the dark'])
    await until(() => received.length === 3)
    await page.close()
})

test('two tabs with one leader, and its end', { skip }, async () => {
    const first = await open()
    const before = bridge.connections
    await first.evaluate(`start('ada tabs', 'tabs'); true`)
    await first.until(`client.state === 'online'`)
    const second = await open()
    await second.evaluate(`start('ada tabs', 'tabs'); true`)
    await second.until(`client.state === 'online'`)
    assert.deepEqual([await first.evaluate('client.isLeader'), await second.evaluate('client.isLeader')], [true, false])
    for (const [page, name] of [[first, 'first'], [second, 'second']]) {
        for (let index = 0; index < 20; index++) {
            await page.evaluate(`room.send('${name} ${index}').then((m) => m.accepted).then(String)`)
        }
    }
    await first.until('received.length === 40')
    await second.until('received.length === 40')
    assert.deepEqual(await first.evaluate('texts()'), await second.evaluate('texts()'))
    assert.equal(bridge.connections - before, speaksWebSocket ? 0 : 1)
    // The leader ends while messages of the other tab are on their way.
    await second.evaluate(`window.all = Promise.all(Array.from({ length: 100 }, (_, index) =>
        room.send('after ' + index).then((m) => m.accepted))).then(() => 'accepted'); true`)
    await first.close()
    assert.equal(await second.evaluate('all'), 'accepted')
    assert.equal(await second.evaluate('client.isLeader'), true)
    await second.until('received.length === 140')
    const texts = await second.evaluate('texts()')
    assert.equal(new Set(texts).size, 140)
    assert.deepEqual(texts.slice(40), Array.from({ length: 100 }, (_, index) => `after ${index}`))
    await second.close()
})

test('a database is deleted or cleared: its tabs stop with a code, and the next page leads', { skip }, async () => {
    for (const remove of ['delete', 'clear']) {
        const account = `ada ${remove}`
        const begin = `start('${account}', '${remove}'); true`
        const pages = [await open(), await open()]
        for (const page of pages) {
            await page.evaluate(begin)
            await page.evaluate(`window.ended = done.catch(({ code }) => code); true`)
            await page.until(`client.state === 'online'`)
        }
        await pages[0].evaluate(`room.send('before').then((m) => m.accepted).then(String)`)
        if (remove === 'delete') {
            await pages[1].evaluate(`indexedDB.databases().then((all) => new Promise((resolve) => {
                const { name } = all.find(({ name }) => name.endsWith('${account}'))
                indexedDB.deleteDatabase(name).onsuccess = () => resolve(true)
            }))`)
        } else {
            await pages[1].command('Storage.clearDataForOrigin',
                { origin: `http://127.0.0.1:${bridge.port}`, storageTypes: 'indexeddb' })
        }
        const code = `room.send('after').then(() => 'stored', ({ code }) => code)`
        for (const page of pages) {
            await page.until(`client.state === 'stopped'`)
            assert.equal(await page.evaluate(code), 'storageUnavailable')
            assert.equal(await page.evaluate('ended'), 'storageUnavailable')
        }
        const next = await open()
        await next.evaluate(begin)
        await next.evaluate(`room.send('again').then((m) => m.accepted).then(String)`)
        await next.until('received.length === 2')
        assert.deepEqual(await next.evaluate('texts()'), ['before', 'again'])
        for (const page of [...pages, next]) {
            assert.deepEqual(page.errors, [])
            await page.close()
        }
    }
})

test('sleep: a frozen page receives everything when it wakes', { skip }, async () => {
    const page = await open()
    const { room } = reader('sleep')
    await page.evaluate(`start('ada sleep', 'sleep'); true`)
    await page.until(`client.state === 'online'`)
    await (await room.send('awake')).accepted
    await page.until('received.length === 1')
    await page.command('Page.setWebLifecycleState', { state: 'frozen' })
    for (let index = 0; index < 50; index++) await room.send(`asleep ${index}`)
    await sleep(6_000)
    await relay.kill()
    await relay.run()
    await sleep(500)
    await page.command('Page.setWebLifecycleState', { state: 'active' })
    await page.until('received.length === 51', 30_000)
    assert.deepEqual((await page.evaluate('texts()')).slice(1),
        Array.from({ length: 50 }, (_, index) => `asleep ${index}`))
    await page.evaluate(`room.send('woken').then((m) => m.accepted).then(String)`)
    assert.deepEqual(page.errors, [])
    await page.close()
})

test('a page that is left is absent at once, and continues when the user returns', { skip }, async () => {
    const page = await open()
    const { room } = reader('return')
    await page.evaluate(`window.isKept = true; start('ada return', 'return'); true`)
    await until(() => room.members.has('ada return'))
    await page.navigate('about:blank')
    await until(() => !room.members.has('ada return'), 5_000, 'absence')
    await (await room.send('meanwhile')).accepted
    const { entries } = await page.command('Page.getNavigationHistory')
    await page.command('Page.navigateToHistoryEntry', { entryId: entries.at(-2).id })
    await page.until('window.isReady === true')
    // Without a cache of the browser the page begins anew.
    if (!await page.evaluate('window.isKept === true')) await page.evaluate(`start('ada return', 'return'); true`)
    await until(() => room.members.has('ada return'), 10_000, 'presence')
    await page.until('received.length === 1')
    await page.evaluate(`room.send('back').then((m) => m.accepted).then(String)`)
    await page.close()
})

test('the page of Examples/WebChat', { skip }, async () => {
    const page = await browser.page(`http://127.0.0.1:${bridge.port}/chat/index.html`)
    const { received, room } = reader('chat room')
    await page.until(`!document.querySelector('#sign-in').hidden`)
    const signIn = (name) => page.evaluate(`(() => {
        const form = document.querySelector('#sign-in-form')
        form.elements.account.value = 'ada chat'
        form.elements.room.value = '${name}'
        form.requestSubmit()
    })()`)
    await signIn('no  name')
    assert.equal(await page.evaluate(`document.querySelector('#sign-in-error').textContent`), 'the room is not a name')
    await signIn('chat room')
    const send = (text) => page.evaluate(`(() => {
        document.querySelector('#text').value = ${JSON.stringify(text)}
        document.querySelector('#composer').requestSubmit()
    })()`)
    const count = (selector) => `document.querySelectorAll(${JSON.stringify(selector)}).length`
    await send('first')
    await page.until(`${count('#messages .message')} === 1 && ${count('#pending li')} === 0`)
    await until(() => received.length === 1)
    room.markRead(1n)
    await page.until(`${count('.meta [aria-label=Read]')} === 1`)
    bridge.down()
    await send('offline')
    await page.until(`${count('#pending [aria-label=Sending]')} === 1`)
    await page.until(`!document.querySelector('#notice').hidden`)
    await page.reload()
    await page.until(`${count('#pending [aria-label=Sending]')} === 1`)
    bridge.up()
    await page.until(`${count('#messages .message')} === 2 && ${count('#pending li')} === 0`)
    await room.react(received[0], '👍')
    await page.until(`${count('.reactions button')} === 1`)
    assert(room.members.has('ada chat'))
    await page.evaluate(`(() => {
        document.querySelector('#join-name').value = '${'x'.repeat(129)}'
        document.querySelector('#join-form').requestSubmit()
    })()`)
    await page.until(`document.querySelector('#notice').textContent.includes('the room is not a name')`)
    await page.navigate('about:blank')
    await until(() => !room.members.has('ada chat'), 5_000, 'the end of the page')
    assert.deepEqual(page.errors, [])
    await page.close()
})
