import MartletWire
import Testing

@Suite("Accepted")
struct AcceptedTests {
    private func parse(_ counter: UInt64, _ count: UInt32, _ offset: UInt64) throws -> AcceptedRun {
        var value: [UInt8] = []
        value.append(bigEndian: counter)
        value.append(bigEndian: count)
        value.append(bigEndian: offset)
        return try Accepted([Field(.acceptedRun, value)]).runs[0]
    }

    @Test("a run maps counters to offsets")
    func mapping() throws {
        let run = try parse(10, 3, 500)
        #expect(run.counters == 10...12)
        #expect(run.offsets == 500...502)
        #expect(run.offset(of: 9) == nil)
        #expect(run.offset(of: 10) == 500)
        #expect(run.offset(of: 12) == 502)
        #expect(run.offset(of: 13) == nil)
    }

    @Test("a run beyond 64 bits is refused")
    func overflow() throws {
        #expect(try parse(.max, 1, .max).offset(of: .max) == .max)
        #expect(try parse(.max - 1, 2, 1).counters == (.max - 1)...(.max))
        #expect(throws: WireError.invalidValue(.acceptedRun)) { try parse(.max, 2, 1) }
        #expect(throws: WireError.invalidValue(.acceptedRun)) { try parse(1, 2, .max) }
        #expect(throws: WireError.invalidValue(.acceptedRun)) { try parse(.max, .max, .max) }
    }

    // W-64
    @Test("a run with a number 0 is refused")
    func zero() {
        #expect(throws: WireError.invalidValue(.acceptedRun)) { try parse(0, 1, 1) }
        #expect(throws: WireError.invalidValue(.acceptedRun)) { try parse(1, 0, 1) }
        #expect(throws: WireError.invalidValue(.acceptedRun)) { try parse(1, 2, 0) }
    }

    // W-64
    @Test("a run of one message with the offset 0 is accepted")
    func forgottenOffset() throws {
        #expect(try parse(7, 1, 0).offset(of: 7) == nil)
    }
}
