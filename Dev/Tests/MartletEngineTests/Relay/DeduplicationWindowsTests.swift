import MartletTestSupport
import MartletWire
import Testing

@testable import MartletLink
@testable import MartletRelay

//
@Suite struct DeduplicationWindowsTests {
    private func device(_ number: Int, of account: AccountName = .alice) -> DeviceKey {
        DeviceKey(account: account, device: DeviceID(rawValue: UInt64(number)))
    }

    /// The maximum number of devices of an account, used at the milliseconds 0, 1, 2 …
    private func full() -> DeduplicationWindows {
        var marks = DeduplicationWindows()
        for number in 0..<DeduplicationWindows.maxCountPerAccount {
            #expect(marks.add(device(number), at: UInt64(number)) == .added(number))
        }
        return marks
    }

    @Test func `a device beyond the account's bound has no window until the oldest lifetime is over`() {
        var marks = full()
        #expect(marks.add(device(5000), at: DeduplicationWindows.lifetime - 1) == .none)
        #expect(marks[device(0)] == 0 && marks[device(5000)] == nil)
        #expect(marks.add(device(5000, of: .bob), at: 0) == .added(DeduplicationWindows.maxCountPerAccount))
    }

    @Test func `after its lifetime the least recently used window is replaced under a new number`() {
        var marks = full()
        marks[0].append(AcceptedRun(firstCounter: 9, count: 1, firstOffset: 1))
        marks.use(1, at: 5)
        let now = DeduplicationWindows.lifetime
        #expect(
            marks.add(device(5000), at: now) == .replaced(DeduplicationWindows.maxCountPerAccount, of: device(0)))
        #expect(marks[device(0)] == nil && marks[device(5000)] == DeduplicationWindows.maxCountPerAccount)
        #expect(marks[0].lastAppended == 0)
        // The next one was used again later.
        #expect(marks.add(device(5001), at: now + 1) == .none)
        #expect(
            marks.add(device(5001), at: now + 2)
                == .replaced(DeduplicationWindows.maxCountPerAccount + 1, of: device(2)))
    }

    // Specs/hostile.md row 62
    @Test func `a full room -> unused windows are removed and their indexes used again`() {
        var marks = DeduplicationWindows()
        marks.maxCount = 3
        for number in 0..<3 { #expect(marks.add(device(number, of: .bob), at: UInt64(number)) == .added(number)) }
        let run = AcceptedRun(firstCounter: 9, count: 1, firstOffset: 1)
        marks[0].append(run)
        marks[1].append(run)
        marks[1].confirm(run)
        #expect(marks.add(device(9), at: 5) == .full)
        #expect(marks.removeUnused(at: 5) == nil)
        // The first device has a message on its way to the store.
        #expect(marks.removeUnused(at: DeduplicationWindows.lifetime + 1) == [device(1, of: .bob)])
        #expect(marks[device(1, of: .bob)] == nil && marks[device(0, of: .bob)] == 0)
        #expect(marks.add(device(9), at: DeduplicationWindows.lifetime + 1) == .added(1))
        #expect(marks[1].lastAppended == 0 && marks.count == 3)
        #expect(marks.add(device(10), at: DeduplicationWindows.lifetime + 1) == .full)
    }

    @Test func `windows loaded from the store are kept beyond the bound`() {
        var marks = DeduplicationWindows()
        for number in 0..<DeduplicationWindows.maxCountPerAccount + 10 {
            marks.load(device(number), DeviceRecord(watermark: 3))
        }
        #expect(marks.count == DeduplicationWindows.maxCountPerAccount + 10)
        #expect(marks.add(device(9999), at: 1) == .none)
    }
}
