// Runs an engine: carriers, timers, credentials. All effects of the client on its surroundings are here.

import type { Carrier, Connect } from '../carriers/carrier.js'
import type { Credential, Engine, Output } from './engine.js'
import type { EngineEvent } from './events.js'
import { guarded } from './report.js'

/** A way to authenticate: a token, or the exchange of a password. One is made for each attempt. */
export interface Authentication {
    /** The first message. It rejects if there is no credential at present. */
    first(): Promise<Credential>
    /** The answer to a challenge, and the last message that the server has to send (C-70). */
    answer?(challenge: Uint8Array): Promise<{ answer: Uint8Array, expected: Uint8Array }>
}

const longestTimer = 2 ** 31 - 1

/** Performs the outputs of an engine. */
export class Driver {
    private readonly carriers = new Map<number, Carrier>()
    private timer: ReturnType<typeof setTimeout> | undefined
    private isPerforming = false
    private isClosed = false
    private authentication: Authentication | undefined

    /**
     * @param connect how connections are made
     * @param authenticate makes an authentication for an attempt
     * @param onEvent is called with each event of the engine
     */
    constructor(private readonly engine: Engine, private readonly connect: Connect,
        private readonly authenticate: () => Authentication, private readonly onEvent: (event: EngineEvent) => void) { }

    /** Milliseconds of a monotonic clock. */
    static now(): number {
        return performance.now()
    }

    /** Calls the engine, and performs what follows from it. */
    run(action: (engine: Engine, now: number) => void): void {
        action(this.engine, Driver.now())
        this.perform()
    }

    /** Leaves in good order. Nothing is due when the carriers have ended. */
    close(): void {
        this.isClosed = true
        this.run((engine, now) => engine.disconnect(now))
    }

    private perform(): void {
        if (this.isPerforming) return
        this.isPerforming = true
        try {
            for (let outputs = this.engine.take(); outputs.length > 0; outputs = this.engine.take()) {
                this.performAll(outputs)
            }
        } finally {
            this.isPerforming = false
        }
        clearTimeout(this.timer)
        const { deadline } = this.engine
        if (deadline === Infinity || (this.isClosed && this.carriers.size === 0)) return
        const wait = Math.min(Math.max(Math.ceil(deadline - Driver.now()), 1), longestTimer)
        this.timer = setTimeout(() => this.run((engine, now) => engine.poll(now)), wait)
    }

    private performAll(outputs: Output[]): void {
        for (let index = 0; index < outputs.length; index++) {
            const output = outputs[index]!
            if (output.type !== 'send') {
                this.performOne(output)
                continue
            }
            // Frames that are sent together are one write.
            const parts = [output.bytes]
            for (let next = outputs[index + 1]; next?.type === 'send' && next.connection === output.connection;
                next = outputs[index + 1]) {
                parts.push(next.bytes)
                index++
            }
            const bytes = parts.length === 1 ? output.bytes : joined(parts)
            guarded(() => this.carriers.get(output.connection)?.send(bytes))
        }
    }

    private performOne(output: Exclude<Output, { type: 'send' }>): void {
        switch (output.type) {
            case 'connect': this.open(output.connection, output.endpoint); break
            case 'end':
                guarded(() => this.carriers.get(output.connection)?.end(output.isAbrupt))
                if (output.isAbrupt) this.carriers.delete(output.connection)
                break
            case 'authenticate':
                this.authentication = this.authenticate()
                this.authentication.first().then(
                    (credential) => this.run((e, now) => e.authenticated(output.connection, credential, now)),
                    () => this.run((e, now) => e.authenticated(output.connection, undefined, now)))
                break
            case 'challenge': {
                const { answer } = this.authentication ?? {}
                const failed = (): void => this.run((e, now) =>
                    e.answered(output.connection, undefined, undefined, now))
                if (answer === undefined) return failed()
                answer.call(this.authentication, output.message).then((result) => this.run((e, now) =>
                    e.answered(output.connection, result.answer, result.expected, now)), failed)
                break
            }
            case 'renew':
                this.authenticate().first().then(({ credential }) => {
                    if (credential !== undefined) this.run((e, now) => e.renewed(output.connection, credential, now))
                }, () => undefined)
                break
            case 'event': guarded(() => this.onEvent(output.event))
        }
    }

    private open(id: number, endpoint: Parameters<Connect>[0]): void {
        const ended = (isRefused: boolean): void => {
            this.carriers.delete(id)
            this.run((engine, now) => engine.carrierEnded(id, isRefused, now))
        }
        try {
            this.carriers.set(id, this.connect(endpoint, {
                up: () => this.run((engine, now) => engine.carrierUp(id, now)),
                data: (bytes) => this.run((engine, now) => engine.carrierData(id, bytes, now)),
                ended,
            }))
        } catch {
            // A URL that the platform does not permit is a failed attempt.
            setTimeout(() => ended(false), 0)
        }
    }
}

function joined(parts: Uint8Array[]): Uint8Array {
    const result = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0))
    let at = 0
    for (const part of parts) {
        result.set(part, at)
        at += part.length
    }
    return result
}
