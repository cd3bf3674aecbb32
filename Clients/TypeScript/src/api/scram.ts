// SCRAM-SHA-256 by WebCrypto (C-68, C-69, C-70, C-86).

import { textOf, utf8 } from '../wire/bytes.js'
import type { Authentication } from '../client/driver.js'
import { CodeError } from './errors.js'

const base64 = (bytes: Uint8Array): string => btoa(String.fromCharCode(...bytes))
const most = { message: 4_096, nonces: 1_024, iterations: 1_000_000, password: 1_024 }
const fewestIterations = 4_096

function fromBase64(text: string): Uint8Array {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0))
}

async function hmac(key: Uint8Array, data: Uint8Array): Promise<Uint8Array> {
    const imported = await crypto.subtle.importKey('raw', key, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign'])
    return new Uint8Array(await crypto.subtle.sign('HMAC', imported, data))
}

/**
 * Makes the exchange of a password.
 *
 * @param account the user name
 * @param password 1 to 1,024 bytes, normalized to NFC
 * @param nonce at least 18 random bytes in base64
 * @param binding `n` without support of channel bindings, `y` with it, or the exporter's 32 bytes of TLS
 */
export function scram(account: string, password: string, nonce: string, binding: 'n' | 'y' | Uint8Array = 'n'):
    Authentication {
    const secret = utf8(password)
    const flag = typeof binding === 'string' ? `${binding},,` : 'p=tls-exporter,,'
    const bare = `n=${account.replace(/=/g, '=3D').replace(/,/g, '=2C')},r=${nonce}`
    return {
        async first() {
            if (secret.length < 1 || secret.length > most.password || /[\u0000-\u001f\u007f-\u009f]/.test(password)) {
                throw new CodeError('passwordNotPermitted')
            }
            const mechanism = typeof binding === 'string' ? 'SCRAM-SHA-256' : 'SCRAM-SHA-256-PLUS'
            return { mechanism, credential: utf8(flag + bare) }
        },
        async answer(challenge) {
            const text = challenge.length <= most.message ? textOf(challenge) ?? '' : ''
            const match = /^r=([\x21-\x2b\x2d-\x7e]+),s=([A-Za-z0-9+/]+={0,2}),i=([1-9][0-9]{0,7})(?:,.*)?$/.exec(text)
            const [, both = '', salt = '', count = '0'] = match ?? []
            const iterations = Number(count)
            const isValid = both.startsWith(nonce) && both.length > nonce.length && both.length <= most.nonces &&
                iterations >= fewestIterations && iterations <= most.iterations
            if (!isValid) throw new CodeError('noAnswer')
            const key = await crypto.subtle.importKey('raw', secret, 'PBKDF2', false, ['deriveBits'])
            const salted = new Uint8Array(await crypto.subtle.deriveBits(
                { name: 'PBKDF2', hash: 'SHA-256', salt: fromBase64(salt), iterations }, key, 256))
            const clientKey = await hmac(salted, utf8('Client Key'))
            const storedKey = new Uint8Array(await crypto.subtle.digest('SHA-256', clientKey))
            const bound = typeof binding === 'string' ? utf8(flag) : new Uint8Array([...utf8(flag), ...binding])
            const withoutProof = `c=${base64(bound)},r=${both}`
            const authMessage = utf8(`${bare},${text},${withoutProof}`)
            const signature = await hmac(storedKey, authMessage)
            const proof = clientKey.map((byte, index) => byte ^ signature[index]!)
            const serverSignature = await hmac(await hmac(salted, utf8('Server Key')), authMessage)
            return {
                answer: utf8(`${withoutProof},p=${base64(proof)}`), expected: utf8(`v=${base64(serverSignature)}`),
            }
        },
    }
}
