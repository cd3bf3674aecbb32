import MartletWire
import Testing

@testable import MartletLink
@testable import MartletRelay

@Suite struct AttachmentUploadTests {
    private func waiter(_ correlation: UInt64) -> AttachmentUpload.Waiter {
        let key = MemberKey(link: LinkKey(slot: 0, generation: 1), session: SessionID(rawValue: 3))
        return AttachmentUpload.Waiter(
            session: MemberHandle(room: 0, slot: -2, key: key), correlation: correlation, creditByteCount: 10)
    }

    private func opened(_ byteCount: UInt64, at position: UInt64 = 0) -> AttachmentUpload {
        var upload = AttachmentUpload(byteCount: byteCount)
        let result1 = upload.begin(waiter(1))
        #expect(!result1)
        let result2 = upload.opened(at: position).map(\.correlation)
        #expect(result2 == [1])
        return upload
    }

    //
    @Test func `bytes that arrive during a call are stored by the next call together`() {
        var upload = opened(100)
        let result3 = upload.write([1, 2], at: 0, waiter(2))
        #expect(result3 == .waits)
        let first = upload.nextWrite()
        #expect(first?.position == 0 && first?.chunks == [[1, 2]])
        let result4 = upload.write([3], at: 2, waiter(3))
        #expect(result4 == .waits)
        let result5 = upload.write([4, 5], at: 3, waiter(4))
        #expect(result5 == .waits)
        let result6 = upload.nextWrite()
        #expect(result6 == nil)
        let result7 = upload.stored(upTo: 2).map(\.correlation)
        #expect(result7 == [2])
        let second = upload.nextWrite()
        #expect(second?.position == 2 && second?.chunks == [[3], [4, 5]])
        let result8 = upload.stored(upTo: 5).map(\.correlation)
        #expect(result8 == [3, 4])
        #expect(upload.isIdle && upload.position == 5)
    }

    //
    @Test func `bytes that are stored are answered at once, and those on their way with them`() {
        var upload = opened(100, at: 10)
        let result9 = upload.write([1], at: 9, waiter(2))
        #expect(result9 == .stored)
        let result10 = upload.write([1, 2], at: 10, waiter(3))
        #expect(result10 == .waits)
        _ = upload.nextWrite()
        let result11 = upload.write([1, 2], at: 10, waiter(4))
        #expect(result11 == .waits)
        let result12 = upload.stored(upTo: 12).map(\.correlation)
        #expect(result12 == [3, 4])
        let result13 = upload.nextWrite()
        #expect(result13 == nil)
    }

    //
    @Test func `bytes that overlap those before are stored once`() {
        var upload = opened(100)
        let result14 = upload.write([1, 2, 3], at: 0, waiter(2))
        #expect(result14 == .waits)
        let result15 = upload.write([2, 3, 4, 5], at: 1, waiter(3))
        #expect(result15 == .waits)
        let result16 = upload.nextWrite()?.chunks
        #expect(result16 == [[1, 2, 3], [4, 5]])
    }

    @Test(arguments: [(UInt64(1), 1), (UInt64(100), 1), (UInt64.max, 2), (UInt64(0), 101)])
    func `bytes after a gap or beyond the length have a wrong position`(position: UInt64, count: Int) {
        var upload = opened(100)
        let bytes = [UInt8](repeating: 0, count: count)
        let result17 = upload.write(bytes, at: position, waiter(2))
        #expect(result17 == .wrongPosition)
        let result18 = upload.nextWrite()
        #expect(result18 == nil)
    }

    //
    @Test func `operations behind a begin or a removal wait in their order, and a removal waits for bytes`() {
        var upload = AttachmentUpload(byteCount: 100)
        _ = upload.begin(waiter(1))
        let operations: [AttachmentUpload.Operation] = [
            .write([1], position: 0), .remove, .begin(byteCount: 100, mediaType: nil),
        ]
        for (index, operation) in operations.enumerated() {
            let isHeld = upload.hold(operation, waiter(UInt64(index + 2)))
            #expect(isHeld)
        }
        var next: [AttachmentUpload.Operation?] = [upload.nextHeld()?.operation]
        _ = upload.opened(at: 0)
        next.append(upload.nextHeld()?.operation)
        _ = upload.write([1], at: 0, waiter(2))
        next.append(upload.nextHeld()?.operation)
        _ = upload.nextWrite()
        next.append(upload.nextHeld()?.operation)
        _ = upload.stored(upTo: 1)
        next.append(upload.nextHeld()?.operation)
        #expect(next == [nil, operations[0], nil, nil, .remove])
        var removing = AttachmentUpload(removingBefore: upload.takeHeld())
        let none = removing.nextHeld()
        #expect(none == nil && !removing.isComplete && !removing.isIdle)
        let rest = removing.takeHeld().map(\.waiter.correlation)
        #expect(rest == [4])
    }

    @Test func `the end of an upload answers every request`() {
        var upload = opened(100)
        _ = upload.write([1], at: 0, waiter(2))
        _ = upload.nextWrite()
        _ = upload.write([2], at: 1, waiter(3))
        #expect(upload.unanswered.map(\.correlation) == [2, 3])
    }
}
