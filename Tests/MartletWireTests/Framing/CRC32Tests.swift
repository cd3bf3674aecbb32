import Testing

@testable import MartletWire

@Suite struct CRC32Tests {
    // W-9
    @Test(
        arguments: [
            ("", 0), ("a", 0xE8B7_BE43), ("123456789", 0xCBF4_3926),
            ("The quick brown fox jumps over the lazy dog", 0x414F_A339),
        ] as [(String, UInt32)])
    func `known inputs give their published checksums`(text: String, expected: UInt32) {
        let bytes = Array(text.utf8)
        let sums = [CRC32.checksum(bytes.rawBytes), CRC32.zlibChecksum(bytes.rawBytes)]
        #expect(sums == [expected, expected])
    }

    @Test func `checksums equal those of zlib for every length and continuation`() {
        var random = SeededRandom(seed: 2)
        for length in Array(0...600) + [4095, 4096, 65_537] {
            let bytes = random.bytes(length)
            let start = UInt32.random(in: 0 ... .max, using: &random)
            let cut = Int.random(in: 0...length, using: &random)
            let whole = CRC32.checksum(bytes.rawBytes, continuing: start)
            let byZlib = CRC32.zlibChecksum(bytes.rawBytes, continuing: start)
            let (left, right) = (bytes[..<cut], bytes[cut...])
            let inTwo = CRC32.checksum(
                right.rawBytes, continuing: CRC32.checksum(left.rawBytes, continuing: start))
            #expect(whole == byZlib, "\(length) bytes")
            #expect(whole == inTwo, "\(length) bytes cut at \(cut)")
        }
    }

    @Test func `the checksum of three words equals that of their bytes`() {
        var random = SeededRandom(seed: 7)
        for _ in 0..<10_000 {
            let words = (random.next(), random.next(), random.next())
            let start = UInt32.random(in: 0 ... .max, using: &random)
            var bytes: [UInt8] = []
            for word in [words.0, words.1, words.2] { bytes.append(bigEndian: word) }
            let sum = CRC32.checksum(words, continuing: start)
            let byZlib = CRC32.zlibChecksum(bytes.rawBytes, continuing: start)
            #expect(sum == byZlib)
        }
    }
}
