// A message of this client on its way.

import { textOf } from '../wire/bytes.js'
import { Tag } from '../wire/registry.generated.js'
import { readTLVs } from '../wire/tlv.js'
import { CodeError } from './errors.js'

/** A message that is stored, and what becomes of it. */
export class Outgoing {
    /** `queued` until it was handed to a connection, then `sent` until the relay has stored or refused it. */
    state: 'queued' | 'sent' | 'accepted' | 'failed' = 'queued'
    /**
     * Resolves with the offset (0 if it is no longer known, W-64), or rejects with a CodeError: the relay's code,
     * `expired`, `cancelled`, `outcomeUnknown`, or `closed` when the client was closed before there was an outcome.
     */
    readonly accepted: Promise<bigint>
    /** The counter of the message, once it is stored: with account and device its identity (W-60). */
    counter: bigint | undefined
    /** The offset, once it was accepted. */
    offset: bigint | undefined
    private resolve!: (offset: bigint) => void
    private reject!: (error: CodeError) => void

    /** @internal */
    constructor(readonly key: string, readonly kind: number, readonly content: Uint8Array) {
        this.accepted = new Promise((resolve, reject) => {
            this.resolve = resolve
            this.reject = reject
        })
        this.accepted.catch(() => undefined)
    }

    get text(): string | undefined {
        const tlv = readTLVs(this.content).find(({ tag }) => tag === Tag.text)
        return tlv === undefined ? undefined : textOf(this.content.subarray(tlv.start, tlv.end))
    }

    /** The client ends before there is an outcome. @internal */
    abandon(error: CodeError): void {
        this.reject(error)
    }

    /** @internal */
    settle(state: 'sent' | 'accepted' | 'failed', offset: bigint, code: number, reason: string): void {
        if (this.state === 'accepted' || this.state === 'failed') return
        this.state = state
        if (state === 'accepted') {
            this.offset = offset
            this.resolve(offset)
        } else if (state === 'failed') {
            this.reject(new CodeError(code, reason))
        }
    }
}
