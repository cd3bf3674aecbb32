import MartletWire
import Testing

@testable import MartletLink
@testable import MartletRelay

@Suite struct RoomLogTests {
    //
    @Test func `a cursor of an earlier log counts up to its branch`() {
        let (earlier, current) = (LogID(rawValue: 6), LogID(rawValue: 7))
        var snapshot = RoomSnapshot(log: current)
        snapshot.branches = [earlier: 5]
        var script = RoomScript("alice", snapshot: snapshot)
        script.fill("alice", 1...10)
        for (name, log, cursor, offsets, upTo) in [
            ("bob", earlier, 3, Array(4...10), 5), ("carol", earlier, 9, Array(6...10), 5),
            ("dave", current, 7, Array(8...10), nil), ("erin", LogID(rawValue: 5), 7, Array(1...10), nil),
        ] as [(String, LogID, UInt64, [UInt64], UInt64?)] {
            script.join(name, cursor: cursor, log: log)
            #expect(script.drain().offsets(to: name) == offsets)
            #expect(RoomLog(snapshot).branch(of: log) == upTo)
        }
    }
}
