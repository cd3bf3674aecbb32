// One tab leads: it has the engine, and the others use it by messages (Web Locks, BroadcastChannel).

import { type Command, commandTimeout, type Core, type CoreEvent } from './core.js'
import { CodeError, type LocalCode } from './errors.js'

type Envelope =
    | { kind: 'command', from: string, id: number, command: Command }
    | { kind: 'reply', to: string, id: number, reply?: unknown, failure?: { code: string, reason: string } }
    | { kind: 'event', event: CoreEvent }
    | { kind: 'bye', from: string }

interface Waiting {
    command: Command
    resolve: (reply: unknown) => void
    reject: (error: Error) => void
    timer: ReturnType<typeof setTimeout>
}

/** Whether several tabs can share a client here. */
export const canShare = (): boolean =>
    typeof BroadcastChannel !== 'undefined' && typeof navigator !== 'undefined' && 'locks' in navigator

/** The use of a client that all tabs with the same name share. */
export class SharedCore implements Core {
    private readonly channel: BroadcastChannel
    private readonly id = crypto.randomUUID()
    private readonly waiting = new Map<number, Waiting>()
    private readonly rooms = new Map<string, Set<string>>()
    private local: Core | undefined
    private next = 1
    private request = new AbortController()
    private release: () => void = () => undefined

    /**
     * @param name the name of the lock and of the channel
     * @param lead makes the core when this tab becomes the leader
     * @param onEvent is called with each event of the leader, and with `leader` when there is a different one
     */
    constructor(private readonly name: string,
        private readonly lead: (onEvent: (event: CoreEvent) => void) => Promise<Core>,
        private readonly onEvent: (event: CoreEvent) => void) {
        this.channel = new BroadcastChannel(name)
        this.channel.onmessage = ({ data }: MessageEvent<Envelope>) => this.receive(data)
        this.restore()
    }

    /** Waits for the lead. */
    restore(): void {
        const request = this.request = new AbortController()
        navigator.locks.request(this.name, { signal: request.signal }, () => this.becomeLeader(request.signal))
            .catch(() => undefined)
    }

    /** Commands are idempotent: they are sent again to the next leader. */
    command(command: Command): Promise<unknown> {
        if (this.local !== undefined) return this.perform(this.id, command)
        return new Promise((resolve, reject) => {
            const id = this.next++
            const timer = setTimeout(() => {
                this.waiting.delete(id)
                reject(new CodeError('noAnswer'))
            }, commandTimeout(command))
            this.waiting.set(id, { command, resolve, reject, timer })
            this.post({ kind: 'command', from: this.id, id, command })
        })
    }

    async close(): Promise<void> {
        this.request.abort()
        this.post({ kind: 'bye', from: this.id })
        await this.local?.close()
        this.local = undefined
        this.release()
        this.channel.close()
        for (const { reject, timer } of this.waiting.values()) {
            clearTimeout(timer)
            reject(new CodeError('closed'))
        }
        this.waiting.clear()
    }

    leave(): void {
        this.post({ kind: 'bye', from: this.id })
        // A page that is kept for a return must neither keep the lead nor wait for it.
        this.request.abort()
        this.local?.leave()
        this.local = undefined
        this.release()
    }

    /** Leads until the tab ends: the lock is held as long as the promise is pending. */
    private async becomeLeader(signal: AbortSignal): Promise<void> {
        if (signal.aborted) return
        const local = await this.lead((event) => {
            if (signal.aborted) return
            this.post({ kind: 'event', event })
            this.onEvent(event)
        })
        if (signal.aborted) return local.close()
        this.local = local
        this.post({ kind: 'event', event: { type: 'leader' } })
        this.onEvent({ type: 'leader' })
        for (const { command, resolve, reject, timer } of [...this.waiting.values()]) {
            clearTimeout(timer)
            this.perform(this.id, command).then(resolve, reject)
        }
        this.waiting.clear()
        await new Promise<void>((resolve) => {
            this.release = resolve
        })
    }

    private post(envelope: Envelope): void {
        this.channel.postMessage(envelope)
    }

    private receive(envelope: Envelope): void {
        switch (envelope.kind) {
            case 'event':
                if (this.local !== undefined) return
                this.onEvent(envelope.event)
                if (envelope.event.type !== 'leader') return
                for (const [id, { command }] of this.waiting) {
                    this.post({ kind: 'command', from: this.id, id, command })
                }
                return
            case 'command': {
                if (this.local === undefined) return
                const { from, id } = envelope
                this.perform(from, envelope.command).then((reply) =>
                    this.post({ kind: 'reply', to: from, id, reply }), (error: unknown) =>
                    {
                    const { code, reason } = CodeError.of(error)
                    this.post({ kind: 'reply', to: from, id, failure: { code, reason } })
                })
                return
            }
            case 'bye':
                for (const room of this.local === undefined ? [] : this.rooms.keys()) {
                    void this.perform(envelope.from, { op: 'close', room })
                }
                return
            case 'reply': {
                const known = envelope.to === this.id ? this.waiting.get(envelope.id) : undefined
                if (known === undefined) return
                this.waiting.delete(envelope.id)
                clearTimeout(known.timer)
                if (envelope.failure === undefined) known.resolve(envelope.reply)
                else known.reject(new CodeError(envelope.failure.code as LocalCode, envelope.failure.reason))
            }
        }
    }

    /** Performs a command of a tab. A room is closed when the last tab closes it. */
    private async perform(from: string, command: Command): Promise<unknown> {
        if (command.op === 'open') {
            const users = this.rooms.get(command.room) ?? new Set()
            this.rooms.set(command.room, users.add(from))
        } else if (command.op === 'close') {
            const users = this.rooms.get(command.room)
            if (users?.delete(from) !== true || users.size > 0) return undefined
            this.rooms.delete(command.room)
        }
        return this.local?.command(command)
    }
}
