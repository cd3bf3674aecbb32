import MartletWire
import Testing

@testable import MartletProtocol

@Suite struct PackedBytesTests {
    private func bytes(_ packed: PackedBytes) -> [UInt8] {
        packed.read { [UInt8](copying: $0) }
    }

    @Test func `bytes are lent as they were given`() {
        for count in [0, 1, 21, 22, 300, Int(UInt16.max)] {
            let given = (0..<count).map { UInt8(truncatingIfNeeded: $0) }
            let packed = PackedBytes().replaced(by: given)
            #expect(bytes(packed) == given && packed.byteCount == count + 2)
            #expect(bytes(PackedBytes(address: packed.address)) == given)
            packed.deallocate()
        }
    }

    @Test func `others of about the same number take the same memory`() {
        let first = PackedBytes().replaced(by: Array(repeating: 1, count: 160))
        // As many as the block of 16 has room for, and half of that.
        var packed = first
        for count in [165, 166, 100, 85] {
            packed = packed.replaced(by: Array(repeating: 2, count: count))
            #expect(packed.address == first.address && bytes(packed) == Array(repeating: 2, count: count))
        }
        packed.deallocate()
    }

    @Test(arguments: [167, 10])
    func `many more, or far fewer, take other memory`(_ count: Int) {
        let first = PackedBytes().replaced(by: Array(repeating: 1, count: 160))
        let other = first.replaced(by: Array(repeating: 2, count: count))
        #expect(bytes(other) == Array(repeating: 2, count: count))
        #expect(other.address != first.address)
        other.deallocate()
    }

    @Test func `where none are there is nothing to let go of`() {
        #expect(PackedBytes().byteCount == 0 && PackedBytes().address == 0)
        PackedBytes().deallocate()
    }
}
