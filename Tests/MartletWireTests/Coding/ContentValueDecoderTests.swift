import Testing

@testable import MartletWire

@Suite("Decoding of Decodable values")
struct ContentValueDecoderTests {
    private struct Point: Decodable, Equatable {
        var x: Int
        var y: Double?
    }

    private func path(of error: (any Error)?) -> [String] {
        switch error as? DecodingError {
        case .typeMismatch(_, let context)?, .valueNotFound(_, let context)?, .keyNotFound(_, let context)?,
            .dataCorrupted(let context)?:
            context.codingPath.map(\.stringValue)
        default: ["no error"]
        }
    }

    @Test func `a value of another form → typeMismatch with the path`() {
        let value = ContentValue.array([.object([.init("x", .text("a"))])])
        let error = #expect(throws: DecodingError.self) { try value.decode([Point].self) }
        #expect(path(of: error) == ["0", "x"])
        #expect(throws: DecodingError.self) { try ContentValue.null.decode(Bool.self) }
        #expect(throws: DecodingError.self) { try ContentValue.null.decode(String.self) }
        #expect(throws: DecodingError.self) { try ContentValue.bool(true).decode(Double.self) }
        #expect(throws: DecodingError.self) { try ContentValue.data([1]).decode(Float.self) }
        #expect(throws: DecodingError.self) { try ContentValue.double(1).decode(Int.self) }
        #expect(throws: DecodingError.self) { try ContentValue.integer(1).decode([Int].self) }
        #expect(throws: DecodingError.self) { try ContentValue.array([]).decode(Point.self) }
    }

    @Test func `a missing key or element → an error with the path`() {
        let error = #expect(throws: DecodingError.self) { try ContentValue.object([]).decode(Point.self) }
        #expect(path(of: error) == [])
        struct Pair: Decodable {
            init(from decoder: any Decoder) throws {
                var container = try decoder.unkeyedContainer()
                _ = try container.decode(Int.self)
                _ = try container.decode(Int.self)
            }
        }
        let missing = #expect(throws: DecodingError.self) { try ContentValue.data([1]).decode(Pair.self) }
        #expect(path(of: missing) == ["1"])
    }

    // M-16
    @Test func `a number beyond the type → dataCorrupted; an integer for a floating-point type → equal`() {
        #expect(throws: DecodingError.self) { try ContentValue.integer(128).decode(Int8.self) }
        #expect(throws: DecodingError.self) { try ContentValue.integer(-1).decode(UInt.self) }
        #expect(throws: DecodingError.self) { try ContentValue.unsigned(.max).decode(Int64.self) }
        #expect(throws: DecodingError.self) { try ContentValue.double(1e300).decode(Float.self) }
        #expect(throws: DecodingError.self) { try ContentValue.integer(.max).decode(Double.self) }
        #expect((try? ContentValue.integer(3).decode(Double.self)) == 3)
        #expect((try? ContentValue.unsigned(1 << 63).decode(Double.self)) == 0x1p63)
        #expect((try? ContentValue.double(.infinity).decode(Float.self)) == .infinity)
    }

    @Test func `an absent or null optional → nil; unknown keys → ignored`() throws {
        let value = ContentValue.object([.init("x", .integer(1)), .init("y", .null), .init("z", .null)])
        #expect(try value.decode(Point.self) == Point(x: 1, y: nil))
        #expect(try value.decode([String: Int?].self) == ["x": 1, "y": nil, "z": nil])
        #expect(try ContentValue.data([1, 2]).decode([Int].self) == [1, 2])
    }
}
