import MartletLink
import MartletWire
import Testing

@testable import MartletRelay

@Suite struct AttachmentIndexTests {
    private func name(_ number: Int, account: AccountName?) throws -> AttachmentIndex.Name {
        let bytes = (0..<32).map { $0 < 4 ? UInt8(truncatingIfNeeded: number >> (8 * $0)) : 1 }
        return AttachmentIndex.Name(
            room: RoomName("lobby"), digest: try #require(AttachmentDigest(bytes)), account: account)
    }

    // R-164, Specs/hostile.md row 96
    @Test func `more promises than the maximum → the older half is forgotten, and uploads with bytes stay`() throws {
        var index = AttachmentIndex(AttachmentLimits())
        let account = AccountName("alice")
        func entry(_ position: UInt64, time: Int) -> AttachmentIndex.Entry {
            AttachmentIndex.Entry(
                account: account, byteCount: 10, position: position, mediaType: nil, time: UInt64(time))
        }
        let kept = try name(0, account: account)
        index.insert(kept, entry(1, time: 0))
        for number in 1...AttachmentIndex.maxPromiseCount + 1 {
            index.insert(try name(number, account: account), entry(0, time: number))
        }
        let count = AttachmentIndex.maxPromiseCount / 2
        #expect(index.count == count + 2 && index[kept] != nil)
        #expect(try index[name(count, account: account)] == nil)
        #expect(try index[name(count + 1, account: account)] != nil)
    }

    //
    @Test func `an entry whose time is beyond the clock → it is not expired`() throws {
        var index = AttachmentIndex(AttachmentLimits())
        let complete = try name(1, account: nil)
        let account = AccountName("alice")
        index.insert(
            complete,
            AttachmentIndex.Entry(account: account, byteCount: 1, position: 1, mediaType: nil, time: .max))
        #expect(!index.isExpired(complete, at: 5) && !index.isExpired(complete, at: .max))
    }
}
