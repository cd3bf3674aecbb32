// Files at the relay (relay.md section 8.4).

import { bytesOfTLVs, encodeContent, parseContent } from '../messages/tlvs.js'
import type { Answer } from '../client/requests.js'
import { equalBytes } from '../wire/bytes.js'
import { Code, Tag } from '../wire/registry.generated.js'
import type { Fields } from '../wire/values.js'
import { CodeError } from './errors.js'

type Request = (method: string, content: Uint8Array) => Promise<Answer>

/** What a message says of a file. */
export interface FileDescription {
    /** At most 256 bytes; it is shown, and never used as a path (M-8). */
    name?: string
    /** At most 128 bytes. */
    mediaType?: string
    text?: string
    /** A small image of at most 16,384 bytes (M-21). */
    thumbnail?: Uint8Array
}

const chunkLength = 15_360
/** Requests without an answer: a typed message waits for at most these bytes. */
const maxRequests = 4
const begins: readonly number[] = [Code.unknownAttachment, Code.wrongPosition, Code.unknownSession, Code.slowConsumer]
const waits: readonly number[] = [Code.storeUnavailable, Code.serverBusy, Code.tooManyRequests, Code.deadlineExceeded]

/** The content of a message about a file at the relay (M-8, M-20). */
export function attachmentContent(digest: Uint8Array, byteCount: number, description: FileDescription): Uint8Array {
    const { name, mediaType, text, thumbnail } = description
    const fields: Fields = { digest, byteCount: BigInt(byteCount), location: 'martlet:attachment' }
    for (const [key, value] of Object.entries({ name, mediaType, text, thumbnail })) {
        if (value !== undefined && value !== '') fields[key] = value
    }
    return encodeContent('byteCount location name? mediaType? digest text? thumbnail?', fields)
}

async function sha256(bytes: Uint8Array): Promise<Uint8Array> {
    return new Uint8Array(await crypto.subtle.digest('SHA-256', bytes))
}

function check(answer: Answer): Uint8Array {
    if (answer.status !== 0) throw new CodeError(answer.status, answer.reason, answer.retryAfter)
    return answer.content
}

/** Uploads a file until the relay has all of it, and returns its digest. */
export async function uploadFile(request: Request, file: Blob, mediaType: string,
    progress: (bytes: number) => void, signal: AbortSignal): Promise<Uint8Array> {
    const bytes = new Uint8Array(await file.arrayBuffer())
    const digest = await sha256(bytes)
    for (let attempt = 0; ; attempt++) {
        const answer = await tryUpload(request, bytes, digest, mediaType, progress)
        if (answer === undefined) return digest
        const isTemporary = begins.includes(answer.status) || waits.includes(answer.status)
        if (!isTemporary || attempt >= 20) check(answer)
        const delay = begins.includes(answer.status) ? 50 : 1_000
        await pause(Math.max(delay, answer.retryAfter ?? 0), signal)
    }
}

/** Waits so many milliseconds, or rejects when the client is closed. */
function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
        const timer = setTimeout(resolve, milliseconds)
        signal.addEventListener('abort', () => {
            clearTimeout(timer)
            reject(signal.reason)
        }, { once: true })
    })
}

/** One attempt; returns the answer that has ended it, or undefined when the relay has the file. */
async function tryUpload(request: Request, bytes: Uint8Array, digest: Uint8Array, mediaType: string,
    progress: (bytes: number) => void): Promise<Answer | undefined> {
    const begin = await request('attachment.begin', bytesOfTLVs([Tag.digest, digest],
        [Tag.byteCount, BigInt(bytes.length)],
        ...(mediaType === '' ? [] : [[Tag.mediaType, mediaType] as [number, string]])))
    if (begin.status !== 0) return begin
    let position = positionIn(begin.content, bytes.length)
    let sent = position
    progress(position)
    const open: Promise<Answer>[] = []
    while (position < bytes.length) {
        while (open.length < maxRequests && sent < bytes.length) {
            const data = bytes.subarray(sent, sent + chunkLength)
            const answer = request('attachment.write', bytesOfTLVs([Tag.digest, digest],
                [Tag.position, BigInt(sent)], [Tag.data, data]))
            // Of several that fail, the first one is awaited.
            answer.catch(() => undefined)
            open.push(answer)
            sent += data.length
        }
        if (open.length === 0) return { status: Code.wrongPosition, content: new Uint8Array(0) }
        const answer = await open.shift()!
        if (answer.status !== 0) return answer
        position = Math.max(position, positionIn(answer.content, bytes.length))
        progress(position)
    }
    return undefined
}

/** A position above the length is refused. */
function positionIn(content: Uint8Array, length: number): number {
    const { position, byteCount } = parseContent(content, 'position byteCount')
    if (byteCount !== BigInt(length) || position! > byteCount) throw new CodeError('invalidTransfer')
    return Number(position)
}

/** Downloads an attachment, and verifies its digest. */
export async function downloadFile(request: Request, digest: Uint8Array,
    progress: (bytes: number) => void): Promise<Uint8Array> {
    const info = parseContent(check(await request('attachment.info', bytesOfTLVs([Tag.digest, digest]))), 'byteCount')
    const length = Number(info['byteCount'])
    const result = new Uint8Array(length)
    for (let position = 0; position < length;) {
        const wanted = Math.min(chunkLength, length - position)
        const answer = await request('attachment.read', encodeContent('digest position length',
            { digest, position: BigInt(position), length: wanted }))
        const { data, byteCount } = parseContent(check(answer), 'data byteCount')
        const bytes = data as Uint8Array
        if (byteCount !== BigInt(length) || bytes.length !== wanted) throw new CodeError('invalidTransfer')
        result.set(bytes, position)
        position += wanted
        progress(position)
    }
    if (!equalBytes(await sha256(result), digest)) throw new CodeError('invalidTransfer')
    return result
}
