// An outbox in IndexedDB, which all tabs of an origin share. Each method is one transaction.

import { CodeError } from '../api/errors.js'
import {
    type Accepted, bounds, checkBounds, checkRoom, type Draft, type Outbox, type OutboxMessage, type Outcome, outcomeOf,
    randomDevice, type StoredCursor, stored,
} from './outbox.js'

/** A message as it is stored: keys of IndexedDB are not integers of 64 bits. */
type Row = Omit<OutboxMessage, 'counter'> & { counter: number }

/** The device ID, and what is above all counters that it has used (C-79). */
interface Identity {
    device: bigint
    nextCounter: number
    /** The messages without an outcome, and the bytes of their contents. */
    count: number
    bytes: number
}

const stores = ['meta', 'messages', 'outcomes', 'cursors'] as const
/** The rows that are read together. */
const page = 64
const fromRow = (row: Row): OutboxMessage => ({ ...row, counter: BigInt(row.counter) })
const isWaiting = ({ status }: Row): boolean => status !== 'failed'

function done<T>(request: IDBRequest<T>): Promise<T> {
    return new Promise((resolve, reject) => {
        request.onsuccess = () => resolve(request.result)
        request.onerror = () => reject(request.error)
    })
}

/** The stores of a transaction. */
type Stores = Record<typeof stores[number], IDBObjectStore>

export class IndexedDBOutbox implements Outbox {
    private readonly database: Promise<IDBDatabase>

    /**
     * @param name the name of the database, one for each account and server
     * @param onLost is called when the database was deleted: what was stored, the device ID too, is gone
     */
    constructor(name: string, onLost: (error: CodeError) => void) {
        const request = indexedDB.open(name, 1)
        request.onupgradeneeded = () => {
            const database = request.result
            database.createObjectStore('meta')
            database.createObjectStore('messages', { keyPath: 'counter' }).createIndex('key', 'key', { unique: true })
            database.createObjectStore('outcomes', { keyPath: 'key' }).createIndex('at', 'at')
            database.createObjectStore('cursors', { keyPath: 'room' }).createIndex('at', 'at')
        }
        this.database = done(request)
        this.database.then((database) => {
            const lost = (): void => {
                database.close()
                onLost(new CodeError('storageUnavailable', 'the database was deleted or replaced'))
            }
            database.onversionchange = database.onclose = lost
        }, () => undefined)
    }

    device(): Promise<bigint> {
        return this.update(async (s) => (await this.identity(s)).device)
    }

    renewDevice(): Promise<bigint> {
        return this.update(async (s) => {
            const identity = { ...await this.identity(s), device: randomDevice() }
            s.meta.put(identity, 'identity')
            return identity.device
        })
    }

    add(drafts: Draft[]): Promise<OutboxMessage[]> {
        return this.update((s) => this.insert(s, drafts))
    }

    messages(): Promise<OutboxMessage[]> {
        return this.update(async ({ messages }) => (await done<Row[]>(messages.getAll())).map(fromRow), 'readonly')
    }

    mark(counter: bigint): Promise<void> {
        return this.update(async ({ messages }) => {
            const row = await done<Row | undefined>(messages.get(Number(counter)))
            if (row !== undefined) messages.put({ ...row, status: 'marked' })
        })
    }

    accept(accepted: Accepted[]): Promise<void> {
        return this.update(async (s) => {
            for (const { counter, offset } of accepted) {
                const row = await done<Row | undefined>(s.messages.get(Number(counter)))
                if (row === undefined) continue
                await this.release(s, row)
                s.messages.delete(row.counter)
                s.outcomes.put({ key: row.key, room: row.room, offset, at: Date.now() })
            }
            await prune(s.outcomes, bounds.outcomes)
        }, 'readwrite', 'relaxed')
    }

    fail(counter: bigint, code: number, reason: string): Promise<void> {
        return this.update(async (s) => {
            const row = await done<Row | undefined>(s.messages.get(Number(counter)))
            if (row === undefined) return
            await this.release(s, row)
            s.messages.put({ ...row, status: 'failed', code, reason })
            const { count } = await this.identity(s)
            let excess = await done(s.messages.count()) - count - bounds.failed
            for (let from = 0; excess > 0;) {
                const rows = await done<Row[]>(s.messages.getAll(IDBKeyRange.lowerBound(from, true), page))
                for (const { counter: old, status } of rows) {
                    if (status === 'failed' && excess-- > 0) s.messages.delete(old)
                }
                from = rows.at(-1)?.counter ?? Infinity
            }
        })
    }

    remove(key: string): Promise<boolean> {
        return this.update(async (s) => {
            const row = await done<Row | undefined>(s.messages.index('key').get(key))
            if (row === undefined) return false
            await this.release(s, row)
            s.messages.delete(row.counter)
            return true
        })
    }

    retry(key: string, newKey: string): Promise<OutboxMessage | undefined> {
        return this.update(async (s) => {
            const row = await done<Row | undefined>(s.messages.index('key').get(key))
            if (row?.status !== 'failed') return undefined
            s.messages.delete(row.counter)
            return (await this.insert(s, [{ ...row, key: newKey }]))[0]
        })
    }

    outcome(key: string): Promise<Outcome> {
        return this.update<Outcome>(async ({ messages, outcomes }) => {
            const accepted = await done<{ offset: bigint } | undefined>(outcomes.get(key))
            if (accepted !== undefined) return { state: 'accepted', offset: accepted.offset }
            const row = await done<Row | undefined>(messages.index('key').get(key))
            return row === undefined ? { state: 'unknown' } : outcomeOf(fromRow(row))
        }, 'readonly')
    }

    cursor(room: string): Promise<StoredCursor | undefined> {
        return this.update(({ cursors }) => done<StoredCursor | undefined>(cursors.get(room)), 'readonly')
    }

    setCursor(room: string, { log, offset }: StoredCursor): Promise<void> {
        return this.update(async ({ cursors }) => {
            cursors.put({ room, log, offset, at: Date.now() })
            await prune(cursors, bounds.cursors)
        }, 'readwrite', 'relaxed')
    }

    private async insert(s: Stores, drafts: Draft[]): Promise<OutboxMessage[]> {
        const identity = await this.identity(s)
        const result: OutboxMessage[] = []
        for (const draft of drafts) {
            const known = await done<Row | undefined>(s.messages.index('key').get(draft.key))
            const accepted = await done<{ room?: string } | undefined>(s.outcomes.get(draft.key))
            checkRoom(known ?? accepted, draft)
            if (known !== undefined) result.push(fromRow(known))
            if (known !== undefined || accepted !== undefined) continue
            checkBounds(identity.count + 1, identity.bytes + draft.content.length)
            const row: Row = { ...stored(draft, 0n), counter: identity.nextCounter++ }
            identity.count++
            identity.bytes += row.content.length
            s.messages.put(row)
            result.push(fromRow(row))
        }
        s.meta.put(identity, 'identity')
        return result
    }

    /** Takes a message out of the bounds on messages without an outcome. */
    private async release(s: Stores, row: Row): Promise<void> {
        if (!isWaiting(row)) return
        const identity = await this.identity(s)
        s.meta.put({ ...identity, count: identity.count - 1, bytes: identity.bytes - row.content.length }, 'identity')
    }

    private async identity({ meta }: Stores): Promise<Identity> {
        const known = await done<Identity | undefined>(meta.get('identity'))
        if (known !== undefined) return known
        const identity: Identity = { device: randomDevice(), nextCounter: 1, count: 0, bytes: 0 }
        meta.put(identity, 'identity')
        return identity
    }

    /** Performs an action in one transaction, and waits until it is durable; what may be lost can be `relaxed`. */
    private async update<T>(action: (s: Stores) => Promise<T>, mode: IDBTransactionMode = 'readwrite',
        durability: IDBTransactionDurability = 'strict'): Promise<T> {
        const database = await this.database
        const transaction = database.transaction(stores, mode, { durability })
        const complete = new Promise<void>((resolve, reject) => {
            transaction.oncomplete = () => resolve()
            transaction.onerror = transaction.onabort = () => reject(transaction.error)
        })
        complete.catch(() => undefined)
        try {
            const result = await action(Object.fromEntries(stores.map((name) =>
                [name, transaction.objectStore(name)])) as Stores)
            await complete
            return result
        } catch (error) {
            try {
                transaction.abort()
            } catch { /* it has ended */ }
            throw error
        }
    }
}

/** Removes the oldest rows beyond a number. */
async function prune(store: IDBObjectStore, most: number): Promise<void> {
    const excess = await done(store.count()) - most
    if (excess <= 0) return
    for (const key of await done(store.index('at').getAllKeys(null, excess))) store.delete(key)
}
