// Errors of code of the application that the client calls.

/** Reports an error like one that nothing has caught. The caller continues. */
export function report(error: unknown): void {
    if (typeof reportError === 'function') return reportError(error)
    queueMicrotask(() => {
        throw error
    })
}

/** Calls code of the application. */
export function guarded(call: () => void): void {
    try {
        call()
    } catch (error) {
        report(error)
    }
}
