import Testing

@testable import MartletPostgres

@Suite struct PostgresParametersTests {
    @Test func `values → their binary form`() {
        var query = PostgresQuery(PostgresStatement("name", "text"))
        query.add(UInt64.max - 1)
        query.add([1, 2] as [UInt8]?)
        query.add(nil as [UInt8]?)
        query.add("é")
        #expect(query.bytes == [255, 255, 255, 255, 255, 255, 255, 254, 1, 2, 0xC3, 0xA9])
        #expect(query.ranges == [0..<8, 8..<10, nil, 10..<12])
    }

    @Test func `arrays → heads with type and bounds, elements with lengths, and -1 for NULL`() {
        var query = PostgresQuery(PostgresStatement("name", "text"))
        query.add([5] as [Int64])
        query.add([[7], nil] as [[UInt8]?])
        query.add([] as [Int64])
        let one: [UInt8] =
            [0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 20, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 8] + [0, 0, 0, 0, 0, 0, 0, 5]
        let two: [UInt8] =
            [0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 17, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 1, 7] + [255, 255, 255, 255]
        let none: [UInt8] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 20]
        #expect(query.bytes == one + two + none)
    }
}
