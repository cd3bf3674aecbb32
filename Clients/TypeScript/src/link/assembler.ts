// Fragments of one session to whole bodies (wire.md section 3.9, session.md section 7).

import { WireError } from '../wire/errors.js'
import type { Frame } from '../wire/receiver.js'

const maxOther = 65_536

/** Joins the frames of a session, which it is given in the order of their sequences. */
export class Assembler {
    private parts: Uint8Array[] = []
    private type: number | undefined
    private total = 0

    /** @param maxMessage the most bytes of a joined body of a credited type (S-44) */
    constructor(private readonly maxMessage: number) { }

    /** Whether a message is incomplete. */
    get isInside(): boolean {
        return this.type !== undefined
    }

    /** The bytes of the incomplete message, which raise the limits of credit (S-37). */
    get byteCount(): number {
        return this.total
    }

    /**
     * Adds a frame, and returns the body that it completes.
     *
     * @param permitsEmpty whether an empty fragment is permitted, as in a reader without sessions (W-21, S-42)
     * @throws WireError protocolViolation (the connection), messageTooLarge (the session)
     */
    add(frame: Frame, permitsEmpty = false): Uint8Array | undefined {
        if (this.type !== undefined && this.type !== frame.type) throw new WireError('protocolViolation')
        if (frame.isFragment && frame.body.length === 0 && !permitsEmpty) throw new WireError('protocolViolation')
        const limit = frame.info?.credited ? this.maxMessage : maxOther
        if (this.total + frame.body.length > limit && frame.info?.fragments) {
            throw new WireError('messageTooLarge', 'session')
        }
        if (!frame.isFragment && this.type === undefined) return frame.body
        this.type = frame.type
        this.total += frame.body.length
        this.parts.push(frame.body)
        if (frame.isFragment) return undefined
        const body = new Uint8Array(this.total)
        let at = 0
        for (const part of this.parts) {
            body.set(part, at)
            at += part.length
        }
        this.parts = []
        this.type = undefined
        this.total = 0
        return body
    }

    /** Continues a message whose first bytes were received before. */
    begin(type: number, body: Uint8Array): void {
        this.type = type
        this.total = body.length
        this.parts = [body]
    }
}
