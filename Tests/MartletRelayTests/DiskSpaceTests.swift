import MartletTransport
import Testing

@testable import MartletRelay

@Suite struct DiskSpaceTests {
    //
    @Test func `the level falls with the free space, and returns when a quarter more is free`() {
        let free = Guarded(UInt64(100_000))
        let disk = DiskSpace(reserve: 4000) { (free.withLock { $0 }, 1_000_000) }
        let steps: [(free: UInt64, level: DiskSpace.Level)] = [
            (9000, .ample), (7999, .low), (9000, .low), (3999, .reserved), (4500, .reserved), (5000, .low),
            (999, .exhausted), (1249, .exhausted), (1250, .reserved), (0, .exhausted), (10_000, .ample),
            (.max, .ample),
        ]
        for step in steps {
            free.withLock { $0 = step.free }
            disk.update()
            #expect(disk.level == step.level, "\(step.free)")
        }
    }

    //
    @Test func `without a reserve nothing is refused, and the default is an eighth of at most 8 GiB`() throws {
        let none = DiskSpace(reserve: 0) { (0, 1000) }
        try none.admit(0)
        #expect(none.level == .ample)
        #expect(DiskSpace(reserve: nil) { (1000, 4000) }.update() == 500)
        #expect(DiskSpace(reserve: nil) { (2 << 30, 1 << 40) }.update() == 1 << 30)
        #expect(DiskSpace(reserve: nil) { nil }.update() == .max)
        #expect(DiskSpace(of: "/").update() > 0)
    }
}
