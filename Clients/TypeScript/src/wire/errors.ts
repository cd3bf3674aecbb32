// Errors of the wire: every fault of a peer has a code of wire.md section 13.5 and a scope (W-72).

import { Code } from './registry.generated.js'

/** The name of an error code, such as `'badChecksum'`. */
export type CodeName = keyof typeof Code

/** What an error ends (W-72). */
export type Scope = 'connection' | 'session' | 'message' | 'request'

/** A failure that no frame carries: it is unknown whether the relay has accepted a message (C-74, C-80). */
export const outcomeUnknown = 0x10000

const names = new Map<number, string>([[outcomeUnknown, 'outcomeUnknown'],
    ...Object.entries(Code).map(([name, code]): [number, string] => [code, name])])

/** Returns the name of a code, or its number in hexadecimal if it is unknown. */
export function codeName(code: number): string {
    return names.get(code) ?? `0x${code.toString(16).padStart(4, '0').toUpperCase()}`
}

/** A fault of the peer's bytes. */
export class WireError extends Error {
    override readonly name = 'WireError'

    /**
     * @param code the error code
     * @param scope what the error ends
     * @param at the position in the stream at which the frame with the fault begins, in bytes
     */
    constructor(readonly code: CodeName, readonly scope: Scope = 'connection', readonly at = 0) {
        super(`${code} ends the ${scope}`)
    }
}
