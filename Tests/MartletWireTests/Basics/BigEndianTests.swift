import MartletWire
import Testing

@Suite struct BigEndianTests {
    @Test func `integers are read in big-endian order at any offset`() {
        let bytes: [UInt8] = [0, 1, 2, 3, 4, 5, 6, 7, 8]
        let span = bytes.rawBytes
        let loaded = (span.loadUInt8(at: 8), span.loadUInt16(at: 7), span.loadUInt32(at: 5), span.loadUInt64(at: 1))
        #expect(loaded == (8, 0x0708, 0x0506_0708, 0x0102_0304_0506_0708))
    }

    @Test func `appended integers equal those read`() {
        var bytes: [UInt8] = []
        bytes.append(bigEndian: UInt8(0xAA))
        bytes.append(bigEndian: UInt16(0x0102))
        bytes.append(bigEndian: UInt64(0x0304_0506_0708_090A))
        let tail: [UInt8] = [0xBB, 0xCC]
        bytes.append(bytes: tail.rawBytes)
        #expect(bytes == [0xAA, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 0xBB, 0xCC])
    }

    @Test func `slices lend their bytes from their own start`() {
        let array: [UInt8] = [1, 2, 3, 4, 5]
        let slice = array[2...]
        let copy = [UInt8](copying: slice.rawBytes)
        #expect(copy == [3, 4, 5])
    }

    @Test(arguments: [([], [], true), ([1], [1], true), ([1], [2], false), ([1], [1, 2], false), ([], [0], false)])
    func `spans with equal bytes are equal, all others are not`(left: [UInt8], right: [UInt8], same: Bool) {
        let answer = left.rawBytes.hasSameBytes(as: right.rawBytes)
        #expect(answer == same)
    }

    @Test func `spans of any length that differ in one byte are unequal`() {
        for count in 0...40 {
            let left = (0..<count).map { UInt8($0) }
            let isSame = left.rawBytes.hasSameBytes(as: left.rawBytes)
            #expect(isSame)
            for place in left.indices {
                var right = left
                right[place] ^= 0x40
                let isSame = left.rawBytes.hasSameBytes(as: right.rawBytes)
                #expect(!isSame)
            }
        }
    }

    @Test func `an output span accepts bytes and integers up to its capacity`() {
        let (middle, nothing): ([UInt8], [UInt8]) = ([3, 4], [])
        let bytes = [UInt8](capacity: 8) { output in
            output.append(bigEndian: UInt16(0x0102))
            output.append(bytes: middle.rawBytes)
            output.append(bytes: nothing.rawBytes)
            output.append(bigEndian: UInt32(0x0506_0708))
            output.append(bytes: nothing.rawBytes)
        }
        #expect(bytes == [1, 2, 3, 4, 5, 6, 7, 8])
    }

    @Test func `reading beyond the end traps`() async {
        await #expect(processExitsWith: .failure) {
            let bytes = [UInt8](repeating: 0, count: 7)
            _ = bytes.rawBytes.loadUInt32(at: 4)
        }
        await #expect(processExitsWith: .failure) {
            let bytes = [UInt8](repeating: 0, count: 7)
            _ = bytes.rawBytes.loadUInt64(at: 0)
        }
    }
}
