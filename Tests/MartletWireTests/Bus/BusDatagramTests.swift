import Testing

@testable import MartletWire

/// Datagrams of the bus (R-213, Specs/hostile.md row 124).
@Suite struct BusDatagramTests {
    private let relay = RelayID(rawValue: 7)

    private func datagrams(_ messages: [BusMessage], maxByteCount: Int = 4096) -> ([[UInt8]], UInt64) {
        var writer = BusWriter(relay: relay, after: 4, maxByteCount: maxByteCount)
        for message in messages { writer.append(message) }
        return writer.finish()
    }

    private func head(of datagram: [UInt8]) throws -> BusHead { try BusHead(parsing: datagram.rawBytes) }

    private func messages(in datagrams: [[UInt8]]) throws -> [BusMessage] {
        try datagrams.flatMap { try BusHead.messages(in: $0.rawBytes) }
    }

    //
    @Test func `items of all kinds → one datagram with the next number`() throws {
        let all = BusItemTests.items.map { BusMessage($0) }
        let (datagrams, number) = datagrams(all)
        #expect(datagrams.count == 1 && number == 5)
        #expect(try head(of: datagrams[0]) == BusHead(relay: relay, number: 5))
        #expect(try messages(in: datagrams) == all)
    }

    //
    @Test func `more items than a datagram has → several in order, with dense numbers and within the bound`() throws {
        let all = (0..<200).map { BusMessage(.changed(RoomName("room \($0)")!)) }
        let (datagrams, number) = datagrams(all, maxByteCount: 128)
        #expect(datagrams.allSatisfy { $0.count <= 128 } && number == 4 + UInt64(datagrams.count))
        #expect(try datagrams.map { try head(of: $0).number } == Array(5...number))
        #expect(try messages(in: datagrams) == all)
    }

    //
    @Test func `an item that fits into no datagram → a number is missing`() throws {
        let long = BusMessage(.changed(RoomName(String(repeating: "a", count: 40))!))
        #expect(BusWriter.byteCount(of: long) > 40)
        let messages = [BusMessage(.performed(1)), long, BusMessage(.performed(2))]
        let (datagrams, number) = datagrams(messages, maxByteCount: 40)
        #expect(try datagrams.map { try head(of: $0).number } == [5, 7] && number == 7)
    }

    //
    @Test func `a datagram that is short, of another version, or with an invalid item → the error`() {
        let (datagrams, _) = datagrams([BusMessage(.changed("lobby"))])
        for count in 0..<BusHead.byteCount {
            let part = Array(datagrams[0].prefix(count))
            #expect(throws: BusError.short) { try head(of: part) }
        }
        var other = datagrams[0]
        other[0] = 2
        #expect(throws: BusError.version(2)) { try head(of: other) }
        let zero: [UInt8] = [1] + [UInt8](repeating: 0, count: 16)
        #expect(throws: BusError.short) { try head(of: zero) }
        for count in BusHead.byteCount + 1..<datagrams[0].count {
            let part = Array(datagrams[0].prefix(count))
            #expect(throws: BusError.self) { try BusHead.messages(in: part.rawBytes) }
        }
    }
}
