import MartletTestSupport
import MartletWire
import Testing

@Suite("Acknowledgements")
struct AckTests {
    /// Parses an ack of session 1 with these ranges.
    private func parse(cumulative: UInt64 = 5, _ ranges: [(UInt64, UInt64)]) throws -> [ClosedRange<UInt64>] {
        var value: [UInt8] = []
        value.append(bigEndian: 1 as UInt16)
        value.append(bigEndian: cumulative)
        value.append(bigEndian: 9 as UInt64)
        for (first, last) in ranges {
            value.append(bigEndian: first)
            value.append(bigEndian: last)
        }
        let ack = try Ack([Field(.linkCredit, 1 as UInt64), Field(.sessionAck, value)])
        return ack.sessions[0].ranges
    }

    // W-48
    @Test("an acknowledgement encodes to these bytes")
    func golden() throws {
        let ack = Ack(
            echo: Echo(timestamp: 0x0102_0304, delay: .microseconds(0x0A0B)), linkCredit: 1 << 20,
            sessions: [
                SessionAck(
                    session: SessionID(rawValue: 1), cumulative: 5, creditLimit: 0x40000, ranges: [7...7, 9...12]),
                SessionAck(session: .control, cumulative: 1, creditLimit: 0),
            ])
        let expected = bytes(
            hex: """
                0030 00000008 01020304 00000A0B
                0031 00000008 0000000000100000
                0032 00000032 0001 0000000000000005 0000000000040000
                    0000000000000007 0000000000000007
                    0000000000000009 000000000000000C
                0032 00000012 0000 0000000000000001 0000000000000000
                """)
        #expect(ack.encode() == expected)
        #expect(ack.byteCount == expected.count)
        #expect(try Ack(parsing: expected.rawBytes) == ack)
    }

    @Test("the computed number of bytes equals that of the encoding")
    func byteCount() throws {
        var random = SeededRandom(seed: 3)
        for _ in 0..<200 {
            let ack = Ack(
                echo: random.maybe { $0.echo() }, linkCredit: random.number(),
                sessions: random.some(0...20) { $0.sessionAck() })
            #expect(ack.byteCount == ack.encode().count)
        }
    }

    // S-21
    @Test("ascending ranges up to the highest sequence are accepted")
    func ranges() throws {
        #expect(try parse([]) == [])
        #expect(try parse([(7, 7)]) == [7...7])
        #expect(try parse([(7, 8), (9, 9)]) == [7...8, 9...9])
        #expect(try parse([(7, 8), (.max, .max)]) == [7...8, .max ... .max])
        #expect(try parse(cumulative: .max, []) == [])
        #expect(try parse(cumulative: .max - 2, [(.max, .max)]) == [.max ... .max])
    }

    @Test(
        "unordered, overlapping and reversed ranges, and ranges next to the cumulative sequence, are refused",
        arguments: [
            [(9, 9), (7, 7)], [(7, 9), (9, 10)], [(7, 9), (8, 8)], [(7, 7), (7, 7)], [(8, 7)], [(8, 0)], [(6, 7)],
            [(5, 7)],
            [(0, 0)], [(7, .max), (.max, .max)],
        ] as [[(UInt64, UInt64)]])
    func wrongRanges(_ ranges: [(UInt64, UInt64)]) throws {
        #expect(throws: WireError.invalidValue(.sessionAck)) { try parse(ranges) }
    }

    @Test("a range after the highest sequence is refused")
    func overflow() throws {
        #expect(throws: WireError.invalidValue(.sessionAck)) { try parse(cumulative: .max, [(0, 0)]) }
        #expect(throws: WireError.invalidValue(.sessionAck)) { try parse(cumulative: .max, [(.max, .max)]) }
        #expect(throws: WireError.invalidValue(.sessionAck)) { try parse(cumulative: .max - 1, [(.max, .max)]) }
    }

    // W-48
    @Test("32 ranges of a session are accepted, 33 are refused")
    func rangeCount() throws {
        let most = (0..<32).map { (7 + 2 * $0, 7 + 2 * $0) as (UInt64, UInt64) }
        #expect(try parse(most).count == 32)
        #expect(throws: WireError.invalidValue(.sessionAck)) { try parse(most + [(1000, 1000)]) }
    }

    @Test("a truncated session is refused", arguments: [0, 1, 17, 19, 33, 35])
    func shortValue(_ byteCount: Int) {
        let field = Field(.sessionAck, Array(repeating: 0, count: byteCount))
        #expect(throws: WireError.invalidValue(.sessionAck)) { try Ack([Field(.linkCredit, 1 as UInt64), field]) }
    }

    // W-53
    @Test("the delay of an echo is rounded to microseconds and clamped to 32 bits")
    func echoDelay() {
        #expect(Echo(timestamp: 0, delay: .nanoseconds(1_999)).delay == .microseconds(1))
        #expect(Echo(timestamp: 0, delay: .seconds(5_000)).delay == .microseconds(UInt32.max))
        #expect(Echo(timestamp: 0, delay: .seconds(Int64.max)).delay == .microseconds(UInt32.max))
        #expect(Echo(timestamp: 0, delay: .nanoseconds(-1)).delay == .zero)
    }
}
