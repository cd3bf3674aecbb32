import MartletWire
import Testing

@Suite struct TLVWriterTests {
    // W-23
    @Test func `a writer writes these bytes`() {
        let (last, encoded): ([UInt8], [UInt8]) = ([7], [0x40, 0, 0, 0, 0, 0])
        var writer = TLVWriter(reserving: 64)
        writer.append(.typing, uint8: 1)
        writer.append(.text, string: "é")
        writer.append(.data, bytes: [9, 8])
        writer.append(.data, bytes: last.rawBytes)
        writer.append(encoded: encoded.rawBytes)
        #expect(
            writer.bytes == [
                0, 0x81, 0, 0, 0, 1, 1, 2, 1, 0, 0, 0, 2, 0xC3, 0xA9, 2, 2, 0, 0, 0, 2, 9, 8, 2, 2, 0, 0, 0, 1, 7, 0x40,
                0, 0, 0,
                0, 0,
            ])
    }

    @Test func `a container's length is what was written inside`() {
        var writer = TLVWriter()
        writer.container(.limits) { limits in
            limits.append(.maxSessions, uint16: 5)
            limits.container(.resume) { _ in }
        }
        #expect(writer.bytes == [1, 1, 0, 0, 0, 14, 0, 0x24, 0, 0, 0, 2, 0, 5, 1, 2, 0, 0, 0, 0])
    }

    @Test func `a container's length has four bytes`() throws {
        var writer = TLVWriter()
        writer.container(.content) { $0.append(.data, bytes: [UInt8](repeating: 1, count: 0x0001_02FD)) }
        #expect(Array(writer.bytes[..<12]) == [1, 0x42, 0, 1, 3, 3, 2, 2, 0, 1, 2, 0xFD])
        try TLVValidator.validate(writer.bytes)
    }

    @Test func `a leaf's tag cannot be a container`() async {
        await #expect(processExitsWith: .failure) {
            var writer = TLVWriter()
            writer.container(.text) { _ in }
        }
    }
}
