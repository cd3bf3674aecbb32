// An outbox in memory: its messages end with the process.

import {
    type Accepted, checkBounds, type Draft, type Outbox, type OutboxMessage, type Outcome, outcomeOf, randomDevice,
    type StoredCursor, stored,
} from './outbox.js'

export class MemoryOutbox implements Outbox {
    private id = randomDevice()
    private nextCounter = 1n
    private rows: OutboxMessage[] = []
    private readonly accepted = new Map<string, bigint>()
    private readonly cursors = new Map<string, StoredCursor>()

    async device(): Promise<bigint> {
        return this.id
    }

    async renewDevice(): Promise<bigint> {
        return this.id = randomDevice()
    }

    async add(drafts: Draft[]): Promise<OutboxMessage[]> {
        return drafts.filter(({ key }) => !this.accepted.has(key)).map((draft) => {
            const known = this.rows.find(({ key }) => key === draft.key)
            if (known !== undefined) return known
            const waiting = this.rows.filter(({ status }) => status !== 'failed')
            checkBounds(waiting.length + 1, waiting.reduce((sum, { content }) => sum + content.length, 0))
            const row = stored(draft, this.nextCounter++)
            this.rows.push(row)
            return row
        })
    }

    async messages(): Promise<OutboxMessage[]> {
        return this.rows.map((row) => ({ ...row }))
    }

    async mark(counter: bigint): Promise<void> {
        const row = this.find(counter)
        if (row !== undefined) row.status = 'marked'
    }

    async accept(accepted: Accepted[]): Promise<(string | undefined)[]> {
        return accepted.map(({ counter, offset }) => {
            const row = this.find(counter)
            if (row === undefined) return undefined
            this.rows = this.rows.filter((each) => each !== row)
            this.accepted.set(row.key, offset)
            return row.key
        })
    }

    async fail(counter: bigint, code: number, reason: string): Promise<string | undefined> {
        const row = this.find(counter)
        if (row === undefined) return undefined
        Object.assign(row, { status: 'failed', code, reason })
        return row.key
    }

    async remove(key: string): Promise<boolean> {
        const count = this.rows.length
        this.rows = this.rows.filter((row) => row.key !== key)
        return this.rows.length < count
    }

    async retry(key: string, newKey: string): Promise<OutboxMessage | undefined> {
        const row = this.rows.find((each) => each.key === key && each.status === 'failed')
        if (row === undefined) return undefined
        await this.remove(key)
        return (await this.add([{ ...row, key: newKey }]))[0]
    }

    async outcome(key: string): Promise<Outcome> {
        const offset = this.accepted.get(key)
        if (offset !== undefined) return { state: 'accepted', offset }
        const row = this.rows.find((each) => each.key === key)
        return row === undefined ? { state: 'unknown' } : outcomeOf(row)
    }

    async cursor(room: string): Promise<StoredCursor | undefined> {
        return this.cursors.get(room)
    }

    async setCursor(room: string, cursor: StoredCursor): Promise<void> {
        this.cursors.set(room, cursor)
    }

    private find(counter: bigint): OutboxMessage | undefined {
        return this.rows.find((row) => row.counter === counter)
    }
}
