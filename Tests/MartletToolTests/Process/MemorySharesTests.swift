import Testing

@testable import MartletTool

@Suite struct MemorySharesTests {
    //
    @Test func `1 GiB -> an eighth is reserved; 64 MiB -> half of it`() {
        let large = MemoryShares(of: 1 << 30, storesInMemory: false)
        #expect(large.engine == 7 << 27 && large.store == 0)
        let small = MemoryShares(of: 64 << 20, storesInMemory: false)
        #expect(small.engine == 32 << 20)
    }

    //
    @Test(arguments: [32 << 20, 64 << 20, 100 << 20, 256 << 20, 1 << 30])
    func `a store in memory -> it and the engine have all that is not reserved`(total: Int) {
        let shares = MemoryShares(of: total, storesInMemory: true)
        let alone = MemoryShares(of: total, storesInMemory: false)
        #expect(shares.engine + shares.store == alone.engine && shares.store > shares.engine)
        #expect(total - alone.engine >= min(total / 2, MemoryShares.minReservedByteCount))
    }
}
