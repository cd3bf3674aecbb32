// Bytes and values of the files in Specs/vectors (its README.md).

export const hex = (bytes) => Buffer.from(bytes).toString('hex')

/** The bytes of a list of pieces. */
export function bytesOf(pieces) {
    return new Uint8Array(Buffer.concat(pieces.map((piece) => {
        if (typeof piece === 'string') return Buffer.from(piece, 'hex')
        if ('repeat' in piece) return Buffer.alloc(piece.repeat.length / 2 * piece.count, piece.repeat, 'hex')
        let inner = Buffer.alloc(0)
        for (let depth = 0; depth < piece.depth; depth++) {
            const length = Buffer.alloc(4)
            length.writeUInt32BE(inner.length)
            inner = Buffer.concat([Buffer.from(piece.nest, 'hex'), length, inner])
        }
        return inner
    })))
}

/** Replaces repetitions in an expectation by what they represent. */
export function expand(value) {
    if (Array.isArray(value)) return value.map(expand)
    if (value === null || typeof value !== 'object') return value
    if ('repeat' in value && 'count' in value && Object.keys(value).length === 2) {
        if (typeof value.repeat === 'string') return value.repeat.repeat(value.count)
        return Array.from({ length: value.count }, () => expand(value.repeat)).flat()
    }
    return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, expand(each)]))
}

/** As `expand`, but keeps the pieces of fragments. */
export function expandedHex(frames) {
    return frames.map((frame) => 'fragment' in frame ? frame : expand(frame)).flat()
}
