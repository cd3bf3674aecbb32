// Requests to the relay (session.md section 11).

import { Code, type ResponseBody, Type } from '../wire/registry.generated.js'
import type { Link } from '../link/link.js'
import type { Fields } from '../wire/values.js'

/** The answer to a request: its content, or the code of its failure. */
export interface Answer {
    status: number
    content: Uint8Array
    reason?: string | undefined
    /** Milliseconds before which the request is not expected to succeed (S-65). */
    retryAfter?: number | undefined
}

interface Open {
    session: number
    deadline: number
    done: (answer: Answer) => void
}

/** The requests without an answer of a link. */
export class Requests {
    private readonly open = new Map<bigint, Open>()
    private next = 1n

    get count(): number {
        return this.open.size
    }

    get deadline(): number {
        return Math.min(...[...this.open.values()].map(({ deadline }) => deadline), Infinity)
    }

    /** Sends a request on a session. The duration is in milliseconds. */
    send(link: Link, session: number, fields: Fields, duration: number, now: number,
        done: (answer: Answer) => void): void {
        const correlation = this.next++
        this.open.set(correlation, { session, deadline: now + duration, done })
        link.send(session, Type.request, { ...fields, correlation, deadline: Math.ceil(duration) })
    }

    /** A response; one without a request is dropped (W-69). */
    receive(session: number, response: ResponseBody): void {
        const request = this.open.get(response.correlation)
        if (request === undefined || request.session !== session) return
        this.open.delete(response.correlation)
        const { status, reason, retryAfter, content } = response
        request.done({ status, reason, retryAfter, content: content ?? new Uint8Array(0) })
    }

    /** Fails requests whose deadline has passed (S-55). */
    expire(link: Link, now: number): void {
        for (const [correlation, { session, deadline, done }] of this.open) {
            if (deadline > now) continue
            this.open.delete(correlation)
            link.send(session, Type.cancel, { correlation })
            done({ status: Code.deadlineExceeded, content: new Uint8Array(0) })
        }
    }

    /** Fails the requests of a session that has ended, or of all sessions (S-57). */
    fail(status: number, session?: number): void {
        for (const [correlation, request] of [...this.open]) {
            if (session !== undefined && request.session !== session) continue
            this.open.delete(correlation)
            request.done({ status, content: new Uint8Array(0) })
        }
    }
}
