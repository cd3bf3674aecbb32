import MartletTestSupport
import MartletWire
import Testing

@testable import MartletLink
@testable import MartletRelay

/// Messages of a room: acceptance, store failures, and delivery to members.
@Suite struct RoomLogScriptTests {
    private func run(_ counter: UInt64, _ count: UInt32, _ offset: UInt64) -> AcceptedRun {
        AcceptedRun(firstCounter: counter, count: count, firstOffset: offset)
    }

    // MARK: Accepting

    //
    @Test func `messages are delivered and accepted when they are durable, in the order of offsets`() {
        var script = RoomScript("alice", "bob")
        for counter in 7...9 as ClosedRange<UInt64> { script.post("alice", counter, byteCount: Int(counter)) }
        script.post("bob", 1)
        #expect(script.drain() == [.append([1, 2, 3, 4])])
        script.post("alice", 10)
        #expect(script.drain().isEmpty)
        script.store()
        let effects = script.drain()
        #expect(effects.offsets(to: "alice") == [1, 2, 3, 4])
        #expect(effects.offsets(to: "bob") == [1, 2, 3, 4])
        #expect(effects.accepted(by: "alice") == [run(7, 3, 1)])
        #expect(effects.accepted(by: "bob") == [run(1, 1, 4)])
        #expect(
            effects.prefix(2)
                == [
                    .released("alice", RoomScript.credit(7) + RoomScript.credit(8) + RoomScript.credit(9)),
                    .released("bob", RoomScript.credit(1)),
                ])
        #expect(effects.contains(.append([5])))
    }

    //
    @Test func `a delivered message has the relay's stamp before the client's bytes`() throws {
        var script = RoomScript("alice", "bob/3")
        script.post("bob/3", 42)
        _ = script.drain()
        script.store()
        guard
            case .sent("alice", .message(let message))? = script.drain().first(where: {
                if case .sent("alice", .message) = $0 { true } else { false }
            })
        else {
            Issue.record("no message for alice")
            return
        }
        #expect(message.counter == 42 && message.text == "x")
        #expect(
            message.relay
                == RelayStamp(offset: 1, acceptedAt: 1042, sender: .bob, device: DeviceID(rawValue: 3)))
    }

    // W-62, R-20
    @Test func `a repeated durable message → accepted with its offset, and not delivered again`() {
        var script = RoomScript("alice", "bob")
        script.fill("alice", 1...3)
        script.post("alice", 2)
        script.post("alice", 4)
        let first = script.drain()
        #expect(first.accepted(by: "alice") == [run(2, 1, 2)])
        #expect(first.offsets(to: "bob").isEmpty)
        script.store()
        #expect(script.drain().offsets(to: "bob") == [4])
    }

    //
    @Test func `a message repeated before it is durable → accepted once when it is stored`() {
        var script = RoomScript("alice", "bob")
        script.post("alice", 1, byteCount: 11)
        script.post("alice", 1, byteCount: 11)
        #expect(script.drain() == [.released("alice", RoomScript.credit(11)), .append([1])])
        script.store()
        let effects = script.drain()
        #expect(effects.accepted(by: "alice") == [run(1, 1, 1)])
        #expect(effects.filter { $0 == .released("alice", RoomScript.credit(11)) }.count == 1)
        #expect(effects.offsets(to: "bob") == [1])
    }

    @Test func `a message repeated on the device's next session → accepted there`() {
        var script = RoomScript("alice")
        script.post("alice", 1, byteCount: 11)
        _ = script.drain()
        script.with("alice") { $0.receive(.leave($1)) }
        // The device repeats its message on another link before the store has answered.
        script.join("alice/1", noLocal: true)
        _ = script.drain()
        script.post("alice/1", 1, byteCount: 11)
        #expect(script.drain() == [.released("alice/1", RoomScript.credit(11))])
        script.store()
        let effects = script.drain()
        #expect(effects.accepted(by: "alice/1") == [run(1, 1, 1)])
        #expect(effects.contains(.released("alice", RoomScript.credit(11))))
    }

    //
    @Test func `each message of a batch is accepted on the session that sent it last`() {
        var script = RoomScript("alice")
        for counter in 1...5 as ClosedRange<UInt64> { script.post("alice", counter) }
        _ = script.drain()
        script.post("alice", 6)
        script.post("alice", 7)
        script.join("alice/1")
        _ = script.drain()
        for counter in [3, 6, 3] as [UInt64] { script.post("alice/1", counter) }
        _ = script.drain()
        script.store()
        let first = script.drain()
        #expect(first.accepted(by: "alice") == [run(1, 2, 1), run(4, 2, 4)])
        #expect(first.accepted(by: "alice/1") == [run(3, 1, 3)])
        #expect(first.contains(.released("alice", 5 * RoomScript.credit(1))))
        script.store()
        let second = script.drain()
        #expect(second.accepted(by: "alice") == [run(7, 1, 7)])
        #expect(second.accepted(by: "alice/1") == [run(6, 1, 6)])
    }

    //
    @Test func `skipped counters sent later are stored once each, and repetitions are accepted again`() {
        var script = RoomScript("alice", "bob")
        script.post("alice", 2)
        script.post("alice", 5)
        _ = script.drain()
        script.store()
        _ = script.drain()
        for counter in [3, 5, 4, 4, 6, 7] as [UInt64] { script.post("alice", counter) }
        let posted = script.drain()
        #expect(posted.contains(.append([3, 4, 5, 6])))
        #expect(posted.accepted(by: "alice") == [run(5, 1, 2)])
        script.store()
        let stored = script.drain()
        #expect(stored.accepted(by: "alice") == [run(3, 2, 3), run(6, 2, 5)])
        #expect(stored.offsets(to: "bob") == [3, 4, 5, 6])
    }

    //
    @Test func `a message repeated after a restart of the relay → accepted without an offset`() {
        let devices = [RoomScript.who("alice"): DeviceRecord(watermark: 50)]
        var script = RoomScript("alice", snapshot: RoomSnapshot(lastOffset: 9, firstOffset: 1, devices: devices))
        for counter in [49, 50, 3] as [UInt64] { script.post("alice", counter) }
        #expect(script.drain().accepted(by: "alice") == [run(49, 1, 0), run(50, 1, 0), run(3, 1, 0)])
        script.post("alice", 51)
        #expect(script.drain() == [.append([10])])
    }

    // C-2
    @Test func `devices use the same counters independently`() {
        var script = RoomScript("alice", "bob", "alice/2")
        script.fill("bob", 1...3)
        script.post("alice", 2)
        script.post("alice/2", 2)
        #expect(script.drain() == [.append([4, 5])])
    }

    //
    @Test func `counters at the end of 64 bits are accepted, and counters far below are not`() {
        var script = RoomScript("alice")
        for counter in [UInt64.max, 1, .max - 1, .max, 5] { script.post("alice", counter) }
        _ = script.drain()
        script.store()
        #expect(script.drain().accepted(by: "alice").map(\.firstCounter) == [.max, .max - 1])
    }

    @Test func `300 accepted runs are sent in two frames`() {
        var script = RoomScript("alice")
        for number in 1...300 as ClosedRange<UInt64> { script.post("alice", number * 2) }
        _ = script.drain()
        script.store()
        let frames = script.drain().compactMap { effect -> Int? in
            if case .sent(_, .accepted(let accepted)) = effect { accepted.runs.count } else { nil }
        }
        #expect(frames == [256, 44])
    }

    // MARK: Store failures

    //
    @Test func `a failed append → publishers reset, credit released, offsets and counters free again`() {
        var script = RoomScript("alice", "bob", "carol")
        script.fill("alice", 1...2)
        script.post("alice", 3, byteCount: 30)
        script.post("bob", 1, byteCount: 10)
        #expect(script.drain() == [.append([3, 4])])
        script.post("alice", 4, byteCount: 40)
        script.failStore()
        let effects = script.drain()
        #expect(
            effects.filter { if case .released = $0 { true } else { false } }
                == [
                    .released("alice", RoomScript.credit(30)), .released("bob", RoomScript.credit(10)),
                    .released("alice", RoomScript.credit(40)),
                ])
        #expect(
            effects.filter { if case .reset = $0 { true } else { false } }
                == [.reset("alice", .storeUnavailable), .reset("bob", .storeUnavailable)])
        #expect(effects.offsets(to: "carol").isEmpty)
        #expect(!effects.contains { if case .append = $0 { true } else { false } })
        script.join("alice")
        _ = script.drain()
        for counter in 2...4 as ClosedRange<UInt64> { script.post("alice", counter) }
        let again = script.drain()
        #expect(again.accepted(by: "alice") == [run(2, 1, 2)])
        #expect(again.contains(.append([3, 4])))
        script.store()
        #expect(script.drain().accepted(by: "alice") == [run(3, 2, 3)])
    }

    @Test func `a partial append → the rest is discarded, and its publisher reset`() {
        var script = RoomScript("alice", "bob")
        for counter in 1...4 as ClosedRange<UInt64> { script.post("alice", counter) }
        _ = script.drain()
        script.store(upTo: 2)
        let effects = script.drain()
        #expect(effects.offsets(to: "bob") == [1, 2])
        #expect(effects.contains(.reset("alice", .storeUnavailable)))
        script.post("bob", 1)
        #expect(script.drain() == [.append([3])])
    }

    @Test func `an unexpected answer of the store has no effect, and one beyond the batch is clamped`() {
        var script = RoomScript("alice", "bob")
        script.rooms.stored(script.room, upTo: 5)
        script.rooms.stored(script.room, upTo: nil)
        #expect(script.drain().isEmpty)
        script.post("alice", 1)
        _ = script.drain()
        script.post("alice", 2)
        script.store(upTo: 99)
        let effects = script.drain()
        #expect(effects.offsets(to: "bob") == [1])
        #expect(effects.contains(.append([2])))
        script.rooms.stored(.hall, upTo: 1)
        #expect(script.drain().isEmpty)
    }

    //
    @Test func `messages beyond the bound of pending bytes reset their sessions with serverBusy`() {
        var script = RoomScript("alice", "bob")
        let byteCount = 900_000
        var posted: UInt64 = 0
        while script.drain().allSatisfy({ if case .reset = $0 { false } else { true } }), posted < 100 {
            posted += 1
            script.post("alice", posted, byteCount: byteCount)
        }
        #expect(Int(posted - 1) * byteCount >= Publication.maxPendingByteCount - byteCount)
        #expect(Int(posted - 1) * byteCount <= Publication.maxPendingByteCount + byteCount)
        script.post("bob", 1, byteCount: 100)
        let turnedAway = script.drain()
        #expect(turnedAway.contains(.reset("bob", .serverBusy)))
        #expect(turnedAway.contains { if case .released("bob", 100...) = $0 { true } else { false } })
        // After all appends the room is removed, and its refused messages leave no state.
        for _ in 0..<2 {
            script.store()
            _ = script.drain()
        }
        #expect(script.rooms.count == 0)
        script.join("carol", room: .hall)
        script.rooms.loaded(.hall, RoomSnapshot())
        _ = script.drain()
        script.post("carol", 1)
        #expect(script.drain().contains(.append([1])))
    }

    // MARK: Delivery

    //
    @Test func `a late member receives the messages after its cursor or tail from memory`() {
        var script = RoomScript("alice")
        script.fill("alice", 1...10)
        script.join("bob", cursor: 7)
        #expect(script.drain().offsets(to: "bob") == [8, 9, 10])
        script.join("carol", tail: 2)
        #expect(script.drain().offsets(to: "carol") == [9, 10])
        script.join("dave", cursor: 99)
        #expect(script.drain().offsets(to: "dave").isEmpty)
    }

    //
    @Test func `a cursor of another log counts as 0, unless tail is later`() {
        var script = RoomScript("alice", snapshot: RoomSnapshot(log: LogID(rawValue: 7)))
        script.fill("alice", 1...10)
        script.join("bob", cursor: 7, log: LogID(rawValue: 6))
        #expect(script.drain().offsets(to: "bob") == Array(1...10))
        script.join("carol", cursor: 7, tail: 2, log: LogID(rawValue: 6))
        #expect(script.drain().offsets(to: "carol") == [9, 10])
        script.join("dave", cursor: 7, log: LogID(rawValue: 7))
        #expect(script.drain().offsets(to: "dave") == [8, 9, 10])
    }

    //
    @Test func `messages no longer in memory are read from the store, and those in memory follow`() {
        var script = RoomScript("alice")
        script.fill("alice", 1...1500)
        script.join("bob")
        let joined = script.drain()
        #expect(joined.offsets(to: "bob").isEmpty)
        #expect(joined.contains(.read("bob", from: 1)))
        script.read("bob", 1...256)
        let first = script.drain()
        #expect(first.offsets(to: "bob") == Array(1...256))
        #expect(first.last == .read("bob", from: 257))
        script.fill("alice", 1501...1501)
        script.read("bob", 257...480)
        let second = script.drain()
        #expect(second.offsets(to: "bob") == Array(257...1501))
    }

    //
    @Test func `a member without credit receives nothing, and continues at its cursor with new credit`() {
        var script = RoomScript("alice", "bob")
        script.with("alice") { $0.receive(.setSuspended($1, true, cursor: nil)) }
        for counter in 1...10 as ClosedRange<UInt64> { script.post("bob", counter, byteCount: 60_000) }
        _ = script.drain()
        script.store()
        #expect(script.drain().offsets(to: "bob") == [1, 2, 3, 4, 5])
        script.with("bob") { $0.credit($1, byteCount: 60_300) }
        #expect(script.drain().offsets(to: "bob") == [6])
        script.with("bob") { $0.credit($1, byteCount: 1 << 40) }
        #expect(script.drain().offsets(to: "bob") == [7, 8, 9, 10])
    }

    // W-66, R-31
    @Test func `offsets that the store has removed are reported as gaps`() {
        var script = RoomScript(snapshot: nil)
        script.join("alice")
        script.rooms.loaded(script.room, RoomSnapshot(lastOffset: 100, firstOffset: 41))
        let opened = script.drain()
        #expect(opened.contains(.opened("alice", head: 100, first: 41, members: ["alice"])))
        #expect(opened.contains(.sent("alice", .gap(Gap(offsets: 1...40)))))
        #expect(opened.last == .read("alice", from: 41))
        script.readNothing("alice", first: 61)
        let later = script.drain()
        #expect(later.contains(.sent("alice", .gap(Gap(offsets: 41...100)))))
        script.fill("alice", 1...1)
        script.join("bob", cursor: 100)
        #expect(script.drain().offsets(to: "bob") == [101])
    }

    //
    @Test func `offsets missing in a read of the store are reported as a gap`() {
        var script = RoomScript("alice")
        script.fill("alice", 1...1100)
        script.join("bob", cursor: 10)
        _ = script.drain()
        script.read("bob", 15...20)
        let effects = script.drain()
        #expect(effects.first == .sent("bob", .gap(Gap(offsets: 11...14))))
        #expect(effects.offsets(to: "bob") == Array(15...20))
        #expect(effects.last == .read("bob", from: 21))
    }

    @Test func `a failed read of the store resets the reader only`() {
        var script = RoomScript("alice")
        script.fill("alice", 1...1100)
        script.join("bob")
        _ = script.drain()
        script.read("bob", nil)
        #expect(script.drain().first == .reset("bob", .storeUnavailable))
        script.read("bob", 1...5)
        #expect(script.drain().isEmpty)
        script.fill("alice", 1101...1101)
    }

    //
    @Test func `a member with noLocal does not receive its own device's messages`() {
        var script = RoomScript("alice")
        script.join("alice/2", noLocal: true)
        script.join("bob", noLocal: true)
        _ = script.drain()
        script.post("alice", 1)
        script.post("alice/2", 1)
        script.post("bob", 1)
        _ = script.drain()
        script.store()
        let effects = script.drain()
        #expect(effects.offsets(to: "alice") == [1, 2, 3])
        #expect(effects.offsets(to: "alice/2") == [1, 3])
        #expect(effects.offsets(to: "bob") == [1, 2])
    }

    // MARK: Suspended members

    //
    @Test func `a suspended member receives nothing, then all messages after its position or cursor`() {
        var script = RoomScript("alice", "bob", "carol")
        script.with("bob") { $0.receive(.setSuspended($1, true, cursor: nil)) }
        script.with("carol") { $0.receive(.setSuspended($1, true, cursor: nil)) }
        script.fill("alice", 1...5)
        script.with("bob") { $0.receive(.setSuspended($1, false, cursor: nil)) }
        script.with("carol") { $0.receive(.setSuspended($1, false, cursor: 3)) }
        let effects = script.drain()
        #expect(effects.offsets(to: "bob") == [1, 2, 3, 4, 5])
        #expect(effects.offsets(to: "carol") == [4, 5])
        script.with("carol") { $0.receive(.setSuspended($1, false, cursor: 1)) }
        #expect(script.drain().isEmpty)
    }

    @Test func `messages read from the store during a suspension are read again after it`() {
        var script = RoomScript("alice")
        script.fill("alice", 1...1100)
        script.join("bob")
        _ = script.drain()
        script.with("bob") { $0.receive(.setSuspended($1, true, cursor: nil)) }
        script.read("bob", 1...256)
        #expect(script.drain().offsets(to: "bob").isEmpty)
        script.with("bob") { $0.receive(.setSuspended($1, false, cursor: nil)) }
        #expect(script.drain() == [.read("bob", from: 1)])
    }

    @Test func `a member held back by its link receives its messages afterwards`() {
        var script = RoomScript("alice", "bob")
        script.with("bob") { $0.receive(.setBacklogged($1, true)) }
        script.fill("alice", 1...3)
        script.with("bob") { $0.receive(.setBacklogged($1, false)) }
        #expect(script.drain().offsets(to: "bob") == [1, 2, 3])
    }

    @Test func `delivery stops after one piece when the link holds the member back`() {
        var script = RoomScript("alice", "bob")
        script.with("bob") { $0.receive(.setSuspended($1, true, cursor: nil)) }
        script.fill("alice", 1...30, byteCount: 8000)
        script.with("bob") { $0.receive(.setSuspended($1, false, cursor: nil)) }
        var byteCount = 0
        while let effect = script.rooms.nextEffect(now: script.now) {
            guard case .deliver(_, let entries) = effect else { continue }
            byteCount += entries.reduce(0) { $0 + $1.body.byteCount }
            script.with("bob") { $0.receive(.setBacklogged($1, true)) }
        }
        #expect((RelayRoom.stepByteCount..<RelayRoom.stepByteCount + 8192).contains(byteCount))
        script.with("bob") { $0.receive(.setBacklogged($1, false)) }
        #expect(script.drain().offsets(to: "bob") == Array(10...30))
    }

    //
    @Test func `members share the array of a batch, and a delivery of a small part is a copy`() {
        var script = RoomScript("alice")
        for name in ["bob", "carol"] { script.join(name, noLocal: true) }
        _ = script.drain()
        script.post("bob", 1)
        for counter in 1...3 as ClosedRange<UInt64> { script.post("carol", counter) }
        _ = script.drain()
        script.store()
        var delivered: [Int: UInt] = [:]
        while let effect = script.rooms.nextEffect(now: script.now) {
            guard case .deliver(_, let entries) = effect else { continue }
            delivered[entries.count] = unsafe entries.withUnsafeBufferPointer { UInt(bitPattern: $0.baseAddress) }
        }
        let stride = UInt(MemoryLayout<LogEntry>.stride)
        #expect(delivered.count == 3)
        #expect(delivered[4].map { $0 + stride } == delivered[3])
        #expect(delivered[1] != delivered[4])
    }

    //
    @Test func `a delivery of the end of a mostly delivered or skipped array is a copy`() {
        var script = RoomScript("alice")
        script.join("bob", noLocal: true)
        _ = script.drain()
        // The remaining credit suffices for one message.
        script.fill("alice", 1...1, byteCount: RoomMember.creditByteCount - 150)
        for counter in 1...9 as ClosedRange<UInt64> { script.post("bob", counter) }
        for counter in 2...3 as ClosedRange<UInt64> { script.post("alice", counter) }
        _ = script.drain()
        script.store()
        let bob = script.keys["bob"]
        var held: [ArraySlice<LogEntry>] = []
        for _ in 1...2 {
            while let effect = script.rooms.nextEffect(now: script.now) {
                if case .deliver(let key, let entries) = effect, key == bob { held.append(entries) }
            }
            script.with("bob") { $0.credit($1, byteCount: 1000) }
        }
        #expect(held.map { $0.first?.offset } == [11, 12])
        // Separate arrays, not the end of the array of eleven.
        #expect(held.map(\.startIndex) == [0, 0])
    }

    //
    @Test func `messages of one append are kept in arrays of bounded size`() throws {
        var script = RoomScript("alice")
        script.fill("alice", 1...30, byteCount: 8000)
        script.fill("alice", 31...31, byteCount: RoomLog.rowByteCount + 1)
        let found = script.rooms.rooms.read(0, { $0.log.tail })
        let tail = try #require(found)
        var counts: [Int] = []
        while case let row = tail.row(from: UInt64(1 + counts.reduce(0, +))), !row.isEmpty { counts.append(row.count) }
        #expect(counts == [8, 8, 8, 6, 1])
    }
}
