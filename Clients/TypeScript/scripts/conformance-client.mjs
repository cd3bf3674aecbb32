// The client under the contract of Specs/conformance/README.md, after `tsc -p .`: conformance-client.mjs HOST PORT
import { createInterface } from 'node:readline'
import { Client } from '../build/index.js'
import { tcp } from '../build/carriers/tcp.js'

const [host, port] = process.argv.slice(2)
const { MARTLET_ACCOUNT: account, MARTLET_TOKEN: token, MARTLET_ROOM: name } = process.env
const client = new Client({ url: `martlet://${host}:${port}`, account, token, connect: tcp() })
const room = client.room(name, { offset: 0n })

function fail(problem) {
    process.stderr.write(`${problem}\n`)
    process.exit(1)
}

client.on('state', ({ state, code, reason }) => {
    if (state === 'stopped') fail(`stopped: ${code} ${reason}`)
})

async function print() {
    for await (const message of room.messages) {
        if (message.text !== undefined && message.sender !== account) process.stdout.write(`${message.text}\n`)
    }
}

async function send() {
    const outcomes = []
    for await (const line of createInterface({ input: process.stdin })) outcomes.push((await room.send(line)).accepted)
    await Promise.all(outcomes)
    await client.close()
    process.exit(0)
}

print().catch(fail)
send().catch(fail)
