package import MartletWire

/// The place of a server among the loops of one process, and the loops of names: all links of an account belong to the
/// loop to which its name hashes. A device that resumes therefore finds its link without a lock.
package struct LoopPlace: Equatable, Sendable {
    /// The maximum number of loops of a server.
    package static let maxCount = 64
    /// A server with one loop.
    package static let only = LoopPlace(index: 0, count: 1)

    /// The loop's number, from 0.
    package let index: Int
    /// The number of loops of the server.
    package let count: Int

    /// - Precondition: `count` is 1 to ``maxCount``, and `index` below it.
    package init(index: Int, count: Int) {
        precondition((1...Self.maxCount).contains(count) && (0..<count).contains(index), "no such loop")
        self.index = index
        self.count = count
    }

    package var number: UInt8 { UInt8(index) }

    /// The loop of an account's links.
    package func loop(of account: AccountName) -> Int { loop(ofName: account.text) }

    /// FNV-1a of 64 bits with the finalizer of MurmurHash3, which spreads names that differ in their last byte only.
    /// The result is the same in every process.
    package func loop(ofName name: String) -> Int {
        guard count > 1 else { return 0 }
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in name.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
        hash = (hash ^ hash >> 33) &* 0xFF51_AFD7_ED55_8CCD
        return Int((hash ^ hash >> 33) % UInt64(count))
    }
}
