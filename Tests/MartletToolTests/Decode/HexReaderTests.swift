import MartletToolSupport
import MartletWire
import Testing

@testable import MartletDecode
@testable import MartletTool

@Suite struct HexReaderTests {
    private func read(_ text: String) throws(InputError) -> [UInt8] {
        var reader = HexReader()
        var bytes: [UInt8] = []
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
            bytes += try reader.read(Array(line.utf8))
        }
        return bytes
    }

    private static let bytes = (0..<40).map { UInt8($0 * 7 & 0xFF) }

    @Test(
        "dumps of several programs → their bytes",
        arguments: [
            """
            00000000: 0007 0e15 1c23 2a31 383f 464d 545b 6269  .....#*18?FMT[bi
            00000010: 7077 7e85 8c93 9aa1 a8af b6bd c4cb d2d9  pw~.............
            00000020: e0e7 eef5 fc03 0a11                      ........
            """,
            """
            00000000  00 07 0e 15 1c 23 2a 31  38 3f 46 4d 54 5b 62 69  |.....#*18?FMT[bi|
            00000010  70 77 7e 85 8c 93 9a a1  a8 af b6 bd c4 cb d2 d9  |pw~.............|
            00000020  e0 e7 ee f5 fc 03 0a 11                           |........|
            00000028
            """,
            """
            0000000 00 07 0e 15 1c 23 2a 31 38 3f 46 4d 54 5b 62 69
            0000020 70 77 7e 85 8c 93 9a a1 a8 af b6 bd c4 cb d2 d9
            0000040 e0 e7 ee f5 fc 03 0a 11
            0000050
            """,
            """
            00070E15 1C23        magic, and then: a remark
            # a remark alone

            2a31383f464d545b626970777e858c939aa1a8afb6bdc4cbd2d9
            0xe0, 0xe7, 0xee, 0xf5,
            fc03 0a11\r
            """,
        ])
    func dumps(text: String) throws {
        #expect(try read(text) == Self.bytes)
    }

    @Test func `a word that looks like an offset, in lines without offsets → bytes`() throws {
        #expect(try read("0001 0203\n0004 0506") == [0, 1, 2, 3, 0, 4, 5, 6])
    }

    @Test(
        "words that are not whole bytes → an error with the line",
        arguments: [
            ("8d4", "'8d4' is not a hexadecimal number of whole bytes"),
            ("8d 4d zz", "'zz' is not a hexadecimal number of whole bytes"),
            ("hello", "'hello' is not a hexadecimal number of whole bytes"),
            ("*", "'*' represents omitted bytes; use -v for the dump"),
        ])
    func problems(text: String, problem: String) {
        #expect(throws: InputError.hex(line: 2, problem: problem)) { try read("8d\n" + text) }
    }

    @Test func `a line beyond the bound → an error`() {
        var reader = HexReader()
        let line = [UInt8](repeating: UInt8(ascii: "0"), count: HexReader.maxLineByteCount)
        #expect(throws: InputError.self) { try reader.read(line) }
        #expect(throws: Never.self) { try reader.read(line.dropLast(2)) }
    }
}
