// Headers and frames (wire.md section 3).

import { u16At, u32At, Writer } from './bytes.js'
import { crc32 } from './checksum.js'
import { WireError } from './errors.js'

export const headerLength = 28
export const magic = 0x8d4d5254

/** A frame of wire.md section 3 as it was sent: its body may be compressed. */
export interface RawFrame {
    type: number
    /** The low 32 bits of the sequence (W-12). */
    sequence: number
    timestamp: number
    /** Whether the frame carries a new timestamp (W-83). */
    hasTimestamp: boolean
    flags: number
    compression: number
    session: number
    minor: number
    body: Uint8Array
    /** Where the frame, or the packet that has it, begins in the stream. */
    at: number
}

/** Checks the bytes of magic and major version that have arrived (W-5, W-6). */
export function checkStart(bytes: Uint8Array): void {
    for (let index = 0; index < Math.min(4, bytes.length); index++) {
        if (bytes[index] !== (magic >>> (24 - 8 * index) & 0xff)) throw new WireError('badMagic')
    }
    if (bytes.length > 4 && bytes[4] !== 1) throw new WireError('unsupportedVersion')
}

/** Checks a whole header by itself, and returns the length of its body (W-6). */
export function checkHeader(bytes: Uint8Array, maxBody: number): number {
    checkStart(bytes)
    if (bytes[16]! & 0xc0) throw new WireError('reservedBits')
    const length = u32At(bytes, 20)
    if (length > maxBody) throw new WireError('frameTooLarge')
    if (bytes[17]! > 1) throw new WireError('compressionNotAllowed')
    return length
}

/** Parses a header that was checked. The checksum of header and body is not compared. */
export function parseFrame(bytes: Uint8Array, at: number): RawFrame {
    return {
        minor: bytes[5]!, type: u16At(bytes, 6), sequence: u32At(bytes, 8), timestamp: u32At(bytes, 12),
        hasTimestamp: true, flags: bytes[16]!, compression: bytes[17]!, session: u16At(bytes, 18),
        body: bytes.slice(headerLength), at,
    }
}

/** Whether the checksum of a frame's bytes is right (W-9). */
export const isChecksumRight = (bytes: Uint8Array): boolean =>
    u32At(bytes, 24) === crc32(bytes.subarray(0, 24), crc32(bytes.subarray(headerLength)))

/** Encodes a frame with its checksum. */
export function encodeFrame(frame: Omit<RawFrame, 'at' | 'hasTimestamp' | 'minor'>, minor = 0): Uint8Array {
    const writer = new Writer(headerLength + frame.body.length)
    writer.u32(magic).u8(1).u8(minor).u16(frame.type).u32(frame.sequence).u32(frame.timestamp).u8(frame.flags)
        .u8(frame.compression).u16(frame.session).u32(frame.body.length)
    writer.u32(crc32(writer.take(), crc32(frame.body))).bytes(frame.body)
    return writer.take()
}
