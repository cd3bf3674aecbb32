// An outbox in memory: its messages end with the process.

import {
    type Accepted, bounds, checkBounds, checkRoom, type Draft, type Outbox, type OutboxMessage, type Outcome, outcomeOf,
    randomDevice, type StoredCursor, stored,
} from './outbox.js'

export class MemoryOutbox implements Outbox {
    private id = randomDevice()
    private nextCounter = 1n
    /** By the counter, in its order, and by the key. */
    private readonly rows = new Map<bigint, OutboxMessage>()
    private readonly byKey = new Map<string, OutboxMessage>()
    /** The messages without an outcome, and the bytes of their contents. */
    private count = 0
    private bytes = 0
    private readonly failed = new Set<OutboxMessage>()
    private readonly accepted = new Map<string, { room: string, offset: bigint }>()
    private readonly cursors = new Map<string, StoredCursor>()

    async device(): Promise<bigint> {
        return this.id
    }

    async renewDevice(): Promise<bigint> {
        return this.id = randomDevice()
    }

    async add(drafts: Draft[]): Promise<OutboxMessage[]> {
        const result: OutboxMessage[] = []
        for (const draft of drafts) {
            const { key, content } = draft
            const known = this.byKey.get(key)
            checkRoom(known ?? this.accepted.get(key), draft)
            if (known !== undefined) result.push({ ...known })
            if (known !== undefined || this.accepted.has(key)) continue
            checkBounds(this.count + 1, this.bytes + content.length)
            const row = stored(draft, this.nextCounter++)
            this.rows.set(row.counter, row)
            this.byKey.set(key, row)
            this.count++
            this.bytes += content.length
            result.push({ ...row })
        }
        return result
    }

    async messages(): Promise<OutboxMessage[]> {
        return [...this.rows.values()].map((row) => ({ ...row }))
    }

    async mark(counter: bigint): Promise<void> {
        const row = this.rows.get(counter)
        if (row !== undefined) row.status = 'marked'
    }

    async accept(accepted: Accepted[]): Promise<void> {
        for (const { counter, offset } of accepted) {
            const row = this.rows.get(counter)
            if (row === undefined) continue
            this.delete(row)
            put(this.accepted, row.key, { room: row.room, offset }, bounds.outcomes)
        }
    }

    async fail(counter: bigint, code: number, reason: string): Promise<void> {
        const row = this.rows.get(counter)
        if (row === undefined) return
        this.release(row)
        Object.assign(row, { status: 'failed', code, reason })
        this.failed.add(row)
        const [oldest] = this.failed
        if (this.failed.size > bounds.failed) this.delete(oldest!)
    }

    async remove(key: string): Promise<boolean> {
        const row = this.byKey.get(key)
        if (row !== undefined) this.delete(row)
        return row !== undefined
    }

    async retry(key: string, newKey: string): Promise<OutboxMessage | undefined> {
        const row = this.byKey.get(key)
        if (row?.status !== 'failed') return undefined
        const [added] = await this.add([{ ...row, key: newKey }])
        this.delete(row)
        return added
    }

    async outcome(key: string): Promise<Outcome> {
        const accepted = this.accepted.get(key)
        if (accepted !== undefined) return { state: 'accepted', offset: accepted.offset }
        const row = this.byKey.get(key)
        return row === undefined ? { state: 'unknown' } : outcomeOf(row)
    }

    async cursor(room: string): Promise<StoredCursor | undefined> {
        return this.cursors.get(room)
    }

    async setCursor(room: string, cursor: StoredCursor): Promise<void> {
        put(this.cursors, room, cursor, bounds.cursors)
    }

    private delete(row: OutboxMessage): void {
        this.release(row)
        this.failed.delete(row)
        this.rows.delete(row.counter)
        this.byKey.delete(row.key)
    }

    /** Takes a message out of the bounds on messages without an outcome. */
    private release({ status, content }: OutboxMessage): void {
        if (status === 'failed') return
        this.count--
        this.bytes -= content.length
    }
}

/** Keeps the latest entries, at most so many. */
function put<Value>(map: Map<string, Value>, key: string, value: Value, most: number): void {
    map.delete(key)
    map.set(key, value)
    const [oldest] = map.keys()
    if (map.size > most) map.delete(oldest!)
}
