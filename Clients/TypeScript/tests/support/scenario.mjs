// An engine and a scripted server in virtual time.
import assert from 'node:assert/strict'
import { encodeBody, parseBody } from '../../build/wire/bodies.js'
import { encodeFrame } from '../../build/wire/header.js'
import { Receiver } from '../../build/wire/receiver.js'
import { Code, Type } from '../../build/wire/registry.generated.js'
import { types } from '../../build/wire/tables.js'
import { Engine } from '../../build/client/engine.js'
import { parseEndpoint } from '../../build/client/endpoint.js'
import { textContent } from '../../build/messages/tlvs.js'

export { Code, Type }

export class Scenario {
    now = 1_000
    events = []
    /** The frames of the client on the present connection, with their fields. */
    frames = []
    connections = []
    isCarrying = true
    answersPings = false
    pings = []

    constructor({ random = () => 0.5, endpoint = 'martlet://relay:1' } = {}) {
        const identity = { endpoint: parseEndpoint(endpoint), account: 'ada', device: 7n, agent: 'test' }
        this.engine = new Engine(identity, random)
        this.sequences = new Map()
    }

    /** Calls the engine and performs its outputs. */
    run(action = (engine, now) => engine.poll(now)) {
        action(this.engine, this.now)
        for (let outputs = this.engine.take(); outputs.length > 0; outputs = this.engine.take()) {
            for (const output of outputs) this.perform(output)
        }
    }

    perform(output) {
        switch (output.type) {
            case 'connect':
                this.connections.push(output)
                this.connection = output.connection
                this.endpoint = output.endpoint.url
                this.receiver = new Receiver('client')
                this.frames = []
                this.inside = new Set()
                this.isEnded = false
                break
            case 'authenticate':
                this.engine.authenticated(output.connection, { credential: new Uint8Array([1]) }, this.now)
                break
            case 'send':
                if (output.connection !== this.connection || !this.isCarrying) break
                this.receiver.add(output.bytes)
                for (let frame; (frame = this.receiver.next()) !== undefined;) {
                    const inside = this.inside.has(frame.session)
                    if ((frame.flags & 1) !== 0) this.inside[frame.isFragment ? 'add' : 'delete'](frame.session)
                    const isPart = frame.isFragment || (inside && (frame.flags & 1) !== 0)
                    const fields = isPart ? {} : parseBody(frame.info, frame.body, 'client')
                    this.frames.push({ name: frame.info.name, ...frame, fields })
                    if (frame.info.name === 'ping' && this.answersPings) this.pings.push(fields.nonce)
                }
                break
            case 'end':
                if (output.connection === this.connection) this.isEnded = true
                break
            case 'event': this.events.push(output.event)
        }
    }

    /** Time passes; the engine is polled at its deadlines. */
    pass(milliseconds) {
        const end = this.now + milliseconds
        for (let turns = 0; ; turns++) {
            assert(turns < 100_000, 'the engine is polled without end')
            const { deadline } = this.engine
            if (deadline > end) break
            const before = this.now
            this.now = Math.max(this.now, deadline)
            this.run()
            for (const nonce of this.pings.splice(0)) this.serve('pong', { nonce, echo: { timestamp: 0, held: 0 } })
            if (this.now === before && this.engine.deadline <= this.now) {
                assert(turns < 1_000, `the deadline ${this.engine.deadline} does not pass`)
            }
        }
        this.now = end
        this.run()
    }

    connect() {
        this.run((engine, now) => engine.connect(now))
        this.up()
    }

    up() {
        this.run((engine, now) => engine.carrierUp(this.connection, now))
    }

    lose(isRefused = false) {
        this.run((engine, now) => engine.carrierEnded(this.connection, isRefused, now))
    }

    /** A frame of the server; reliable ones are numbered by session. */
    bytes(name, fields = {}, { session = 0, sequence, flags, timestamp = 0 } = {}) {
        const info = types.get(Type[name])
        let number = 0
        if (info.reliable) {
            number = sequence ?? (this.sequences.get(session) ?? 0) + 1
            if (sequence === undefined) this.sequences.set(session, number)
        }
        return encodeFrame({ type: info.number, sequence: number, timestamp, flags: flags ?? (info.reliable ? 9 : 8),
            compression: 0, session, body: encodeBody(info, fields) })
    }

    serve(name, fields, options) {
        const bytes = this.bytes(name, fields, options)
        this.run((engine, now) => engine.carrierData(this.connection, bytes, now))
    }

    welcome(fields = {}) {
        this.receiver.establish(0x0100, 0n, { maxBody: 65_536 })
        this.serve('welcome', {
            spokenVersion: 0x0100, features: 14n, account: 'ada', link: 5n,
            resumeToken: new Uint8Array(32).fill(this.now), epoch: 1, resumeLifetime: 300,
            limits: { maxBody: 65_536, maxMessage: 1_048_576, linkWindow: 1_048_576, sessionWindow: 262_144,
                maxSessions: 255 },
            ...fields,
        })
    }

    /** The server acknowledges everything that it has received on a session. */
    ack(session = 1) {
        const last = Math.max(0, ...this.frames.filter((each) => each.session === session).map((each) => each.sequence))
        this.serve('ack', { linkCredit: 1_048_576n,
            sessionAck: [{ session, cumulative: BigInt(last), credit: 262_144n, ranges: [] }] })
    }

    /** Connected, with a room that is open on session 1. */
    online() {
        this.connect()
        this.welcome()
        this.run((engine, now) => engine.openRoom('lobby', { cursor: 0n }, now))
        this.serve('opened', { head: 0n, first: 1n, log: 9n, member: ['ada'] }, { session: 1 })
        this.ack()
        return this
    }

    publish(counter, text = `text ${counter}`) {
        this.run((engine, now) => engine.publish('lobby',
            { counter: BigInt(counter), kind: 0x1001, content: textContent(text), isMarked: false }, now))
    }

    message(offset, text = `text ${offset}`) {
        const counter = BigInt(offset)
        return { offset: counter, acceptedAt: 1n, device: 8n, sender: 'bob', counter, kind: 0x1001,
            content: textContent(text) }
    }

    last(name) {
        return this.frames.filter((each) => each.name === name).at(-1)
    }

    count(name) {
        return this.frames.filter((each) => each.name === name).length
    }

    eventsOf(type) {
        return this.events.filter((event) => event.type === type)
    }
}
