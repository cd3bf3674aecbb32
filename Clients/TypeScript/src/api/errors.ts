// Errors of the application's interface.

import { codeName } from '../wire/errors.js'
import { Code } from '../wire/registry.generated.js'

/** The codes of errors that no frame carries. */
export type LocalCode = 'outboxFull' | 'closed' | 'invalidPage' | 'invalidTransfer' | 'passwordNotPermitted' |
    'noAnswer' | 'outcomeUnknown' | 'storageUnavailable' | 'keyInUse'

/** A failure with a code: that of a frame (wire.md section 13.5), or a local one. */
export class CodeError extends Error {
    override readonly name = 'CodeError'
    /** The name of the code, such as `'roomForbidden'`. */
    readonly code: string

    /**
     * @param code a number of wire.md section 13.5, or a local code
     * @param reason the server's text for people; it is data, not a basis for decisions (C-43)
     * @param retryAfter milliseconds before which a repetition is not expected to succeed (S-65)
     */
    constructor(code: number | LocalCode, readonly reason = '', readonly retryAfter?: number | undefined) {
        const name = typeof code === 'number' ? codeName(code) : code
        super(reason === '' ? name : `${name}: ${reason}`)
        this.code = name
    }

    /** The error of a storage, with a code. */
    static of(error: unknown): CodeError {
        return error instanceof CodeError ? error : new CodeError('storageUnavailable', String(error))
    }
}

/** The error of an argument out of its range. */
export const invalid = (reason: string): CodeError => new CodeError(Code.invalidValue, reason)
