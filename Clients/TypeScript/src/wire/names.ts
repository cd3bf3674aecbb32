// Names of accounts, rooms and methods (W-31).

const refused = new RegExp('[' +
    '\\u0000-\\u001f\\u007f-\\u009f' +
    '\\u00a0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000' +
    '\\u061c\\u200e\\u200f\\u202a-\\u202e\\u2066-\\u2069' +
    '\\u00ad\\u034f\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180f\\u200b-\\u200d\\u2060-\\u2065\\u206a-\\u206f\\u3164' +
    '\\ufe00-\\ufe0f\\ufeff\\uffa0\\ufff0-\\ufff8\\u{1bca0}-\\u{1bca3}\\u{1d173}-\\u{1d17a}\\u{e0000}-\\u{e0fff}' +
    '\\u0600-\\u0605\\u06dd\\u070f\\u0890\\u0891\\u08e2\\ufff9-\\ufffb\\u{110bd}\\u{110cd}\\u{13430}-\\u{1343f}' +
    '\\ue000-\\uf8ff\\u{f0000}-\\u{10ffff}\\ufdd0-\\ufdef\\ufffe\\uffff' +
    Array.from({ length: 14 }, (_, plane) => {
        const high = (plane + 1).toString(16)
        return `\\u{${high}fffe}\\u{${high}ffff}`
    }).join('') +
    '\\ud800-\\udfff]', 'u')

/** Whether text is a name, apart from its length in bytes. */
export function isName(text: string): boolean {
    return text !== '' && !refused.test(text) && !text.startsWith(' ') && !text.endsWith(' ') && !text.includes('  ')
}

/** Characters that the lines of a card do not contain (M-40). */
export const refusedInLines =
    /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/
