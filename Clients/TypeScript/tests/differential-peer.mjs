#!/usr/bin/env node
// The wire of this client as a peer of Specs/reference/differential.py: answers lines with what frames mean.
import { createInterface } from 'node:readline'
import { encodeBody, parseBody } from '../build/wire/bodies.js'
import { WireError } from '../build/wire/errors.js'
import { Framer } from '../build/wire/framer.js'
import { encodeFrame } from '../build/wire/header.js'
import { Receiver } from '../build/wire/receiver.js'
import { Code, Flag, Type } from '../build/wire/registry.generated.js'
import { Assembler } from '../build/link/assembler.js'

const hex = (bytes) => Buffer.from(bytes).toString('hex')
const bytesOf = (text) => new Uint8Array(Buffer.from(text, 'hex'))

function read(from, phase, limit, split, data) {
    const receiver = new Receiver(from)
    if (phase !== 'handshake') receiver.establish(0x0100, phase === 'zlib' ? 1n : 0n, { maxBody: Number(limit) })
    const assemblers = new Map()
    const pieces = []
    const bytes = bytesOf(data)
    const error = ({ code, at }) => pieces.push(`error:${Code[code].toString(16)}:${at.toString(16)}`)
    try {
        for (const part of [bytes.subarray(0, Number(split)), bytes.subarray(Number(split))]) {
            receiver.add(part)
            for (let frame; (frame = receiver.next()) !== undefined;) {
                pieces.push(piece(frame, from, receiver, assemblers))
            }
        }
        receiver.finish()
    } catch (failure) {
        if (!(failure instanceof WireError)) throw failure
        error(failure)
    }
    return pieces.join(' ')
}

function piece(frame, from, receiver, assemblers) {
    const { type, session, sequence, timestamp, flags, compression, minor } = frame
    const fields = [type, session, sequence, timestamp, flags, compression, minor].map((n) => n.toString(16)).join('.')
    const at = (failure) => new WireError(failure.code, 'connection', frame.at)
    let isPart = false
    if (flags & Flag.reliable) {
        if (!assemblers.has(session)) assemblers.set(session, new Assembler(Infinity))
        const assembler = assemblers.get(session)
        isPart = assembler.isInside || frame.isFragment
        try {
            assembler.add(frame, true)
        } catch (failure) {
            throw at(failure)
        }
    }
    if (frame.info === undefined) return `skipped:${fields}`
    if (isPart) return `fragment:${fields}:${hex(frame.body)}`
    try {
        const body = parseBody(frame.info, frame.body, from)
        if (type === Type.welcome) receiver.establish(body.spokenVersion, body.features, body.limits)
        return `value:${fields}:${hex(encodeBody(frame.info, body))}`
    } catch (failure) {
        if (!(failure instanceof WireError)) throw failure
        if (failure.scope === 'connection') throw at(failure)
        return `refused:${fields}:${Code[failure.code].toString(16)}:${failure.scope}`
    }
}

function unpack(features, limit, data) {
    const sharedDeflate = features.includes('sharedDeflate')
    const framer = new Framer({ maxBody: Number(limit), compact: true, sharedDeflate })
    const frames = []
    try {
        framer.add(bytesOf(data))
        for (let frame; (frame = framer.next()) !== undefined;) frames.push(hex(encodeFrame(frame, frame.minor)))
        framer.finish()
    } catch (failure) {
        frames.push(`error:${failure.code}`)
    }
    return frames.join(' ')
}

for await (const line of createInterface({ input: process.stdin })) {
    const [command, ...words] = line.split(' ')
    if (command === 'read') console.log(read(...words))
    if (command === 'unpack') console.log(unpack(...words))
}
