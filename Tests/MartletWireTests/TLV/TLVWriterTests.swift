import MartletWire
import Testing

@Suite struct TLVWriterTests {
    // W-23
    @Test func `fields encode to these bytes`() {
        let (last, encoded): ([UInt8], [UInt8]) = ([7], [0x40, 0, 0, 0, 0, 0])
        var writer = TLVWriter(reserving: 64)
        writer.append(.typing, uint8: 1)
        writer.append(.text, string: "é")
        writer.append(.data, bytes: [9, 8])
        writer.append(.data, bytes: last.rawBytes)
        writer.append(encoded: encoded.rawBytes)
        let bytes = writer.bytes
        #expect(
            bytes == [
                0, 0x81, 0, 0, 0, 1, 1, 2, 1, 0, 0, 0, 2, 0xC3, 0xA9, 2, 2, 0, 0, 0, 2, 9, 8, 2, 2, 0, 0, 0, 1, 7, 0x40,
                0, 0, 0,
                0, 0,
            ])
    }

    @Test func `the length of a container is that of its contents`() {
        var writer = TLVWriter()
        writer.container(.limits) { limits in
            limits.append(.maxSessions, uint16: 5)
            limits.container(.resume) { _ in }
        }
        let bytes = writer.bytes
        #expect(bytes == [1, 1, 0, 0, 0, 14, 0, 0x24, 0, 0, 0, 2, 0, 5, 1, 2, 0, 0, 0, 0])
    }

    @Test func `the length of a container has four bytes`() throws {
        var writer = TLVWriter()
        writer.container(.content) { $0.append(.data, bytes: [UInt8](repeating: 1, count: 0x0001_02FD)) }
        let bytes = writer.bytes
        #expect(Array(bytes[..<12]) == [1, 0x42, 0, 1, 3, 3, 2, 2, 0, 1, 2, 0xFD])
        try TLVValidator.validate(bytes)
    }

    @Test func `a container with the tag of a leaf traps`() async {
        await #expect(processExitsWith: .failure) {
            var writer = TLVWriter()
            writer.container(.text) { _ in }
        }
    }

    /// Writes one field of each kind twice, with a short and a longer value.
    private func write(_ value: [UInt8], into writer: inout TLVWriter) {
        let text = String(repeating: "x", count: value.count)
        writer.append(.typing, uint8: 0x12)
        writer.append(.kind, uint16: 0x1234)
        writer.append(.epoch, uint32: 0x1234_5678)
        writer.append(.counter, uint64: 0x1234_5678_9ABC_DEF0)
        writer.append(.text, string: text)
        writer.append(.data, bytes: value)
        writer.container(.content) { $0.append(.data, bytes: value.rawBytes) }
        writer.append(encoded: value.rawBytes)
    }

    private func expected(_ value: [UInt8]) -> [UInt8] {
        let text = [UInt8](repeating: 0x78, count: value.count)
        let fields = [
            Field(.typing, 0x12 as UInt8), Field(.kind, 0x1234 as UInt16), Field(.epoch, 0x1234_5678 as UInt32),
            Field(.counter, 0x1234_5678_9ABC_DEF0 as UInt64), Field(.text, text), Field(.data, value),
            Field(.content, holding: [Field(.data, value)]),
        ]
        return MartletWireTests.bytes(of: fields) + value
    }

    @Test func `fields beyond the capacity are preserved when the buffer grows`() {
        for count in 0...300 {
            let value = (0..<count).map { UInt8(truncatingIfNeeded: $0) }
            var writer = TLVWriter()
            write(value, into: &writer)
            let bytes = writer.bytes
            #expect(bytes == expected(value))
            let byteCount = writer.byteCount
            #expect(byteCount == bytes.count)
        }
    }

    @Test func `a reused writer gives the same bytes as a new one`() {
        var writer = TLVWriter()
        for count in [3, 0, TLVWriter.maxKeptByteCount, 1, 100_000, 2] {
            let value = [UInt8](repeating: 0x55, count: count)
            writer.removeAll()
            let isEmpty = writer.byteCount == 0 && writer.bytes.isEmpty
            #expect(isEmpty)
            write(value, into: &writer)
            let bytes = writer.bytes
            #expect(bytes == expected(value))
        }
    }

    @Test func `empty values are written without a buffer`() {
        let nothing: [UInt8] = []
        var writer = TLVWriter()
        writer.append(encoded: nothing.rawBytes)
        let bytes = writer.bytes
        #expect(bytes.isEmpty)
    }
}
