import Foundation
import Testing

@testable import MartletWire

@Suite("Encoding of Encodable values")
struct ContentValueEncoderTests {
    private struct Poll: Codable, Equatable {
        enum State: String, Codable { case open, closed }

        struct Choice: Codable, Equatable {
            var title: String
            var votes: UInt64
            var share: Double?
        }

        var question: String
        var state: State
        var choices: [Choice]
        var image: [UInt8]
        var tags: Set<String>
        var isSecret: Bool
        var weight: Float
        var limit: Int8?
        var names: [String: Int]
    }

    /// Encodes its side like a superclass.
    private struct Square: Codable, Equatable {
        enum Key: CodingKey { case color }

        var side: Int
        var color: String

        init(side: Int, color: String) {
            self.side = side
            self.color = color
        }

        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: Key.self)
            color = try container.decode(String.self, forKey: .color)
            let base = try container.superDecoder()
            side = try Int(from: base)
        }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: Key.self)
            try container.encode(color, forKey: .color)
            try side.encode(to: container.superEncoder())
        }
    }

    private struct Containers: Codable, Equatable {
        enum Key: String, CodingKey { case list, table, nothing }

        var numbers: [Int?]

        init(numbers: [Int?]) { self.numbers = numbers }

        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: Key.self)
            #expect(Set(container.allKeys) == [.list, .table, .nothing])
            #expect(try container.decodeNil(forKey: .nothing))
            var list = try container.nestedUnkeyedContainer(forKey: .list)
            numbers = []
            while !list.isAtEnd { numbers.append(try list.decodeIfPresent(Int.self)) }
            let table = try container.nestedContainer(keyedBy: Key.self, forKey: .table)
            var inner = try table.nestedUnkeyedContainer(forKey: .list)
            var innermost = try inner.nestedUnkeyedContainer()
            #expect(try innermost.decode(Int.self) == 9)
            #expect(try inner.nestedContainer(keyedBy: Key.self).decode(Int.self, forKey: .list) == 8)
            #expect(try Int(from: inner.superDecoder()) == 7)
            #expect(try Int(from: table.superDecoder(forKey: .table)) == 6)
        }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: Key.self)
            try container.encodeNil(forKey: .nothing)
            var list = container.nestedUnkeyedContainer(forKey: .list)
            for number in numbers { try list.encode(number) }
            var table = container.nestedContainer(keyedBy: Key.self, forKey: .table)
            var inner = table.nestedUnkeyedContainer(forKey: .list)
            var innermost = inner.nestedUnkeyedContainer()
            try innermost.encode(9)
            var keyed = inner.nestedContainer(keyedBy: Key.self)
            try keyed.encode(8, forKey: .list)
            try 7.encode(to: inner.superEncoder())
            try 6.encode(to: table.superEncoder(forKey: .table))
        }
    }

    private struct Empty: Codable, Equatable {}

    private final class List: Encodable {
        let next: List?

        init(next: List?) { self.next = next }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.unkeyedContainer()
            if let next { try container.encode(next) }
        }
    }

    private func restored<Value: Codable>(_ value: Value) throws -> Value {
        let bytes = try ContentValue(encoding: value).encode()
        let decoded = try ContentValue(content: bytes.rawBytes)
        return try decoded.decode()
    }

    // M-14, M-15
    @Test func `a structure with every kind of property → the same after decoding`() throws {
        let poll = Poll(
            question: "Which?", state: .open,
            choices: [.init(title: "", votes: .max, share: nil), .init(title: "b", votes: 0, share: -0.5)],
            image: [0, 255], tags: ["x"], isSecret: true, weight: 0.1, limit: -128, names: ["é": 1])
        #expect(try restored(poll) == poll)
        let value = try ContentValue(encoding: poll)
        #expect(value["image"] == .data([0, 255]) && value["state"] == .text("open"))
        #expect(value["choices"] != nil && value["limit"] == .integer(-128))
    }

    @Test func `single values, and values without properties → the same after decoding`() throws {
        #expect(try restored("text") == "text")
        #expect(try restored(UInt64.max) == .max)
        #expect(try restored([Int]()) == [])
        #expect(try restored(Int?.none) == nil)
        #expect(try restored([[UInt8]]()) == [])
        #expect(try restored(Data([1, 2, 3])) == Data([1, 2, 3]))
        #expect(try ContentValue(encoding: Data([1, 2])) == .data([1, 2]))
        #expect(try restored(Empty()) == Empty())
        #expect(try ContentValue(encoding: Empty()) == .object([]))
    }

    @Test func `nested containers and a superclass → the same after decoding`() throws {
        let containers = Containers(numbers: [1, nil, -1])
        #expect(try restored(containers) == containers)
        let square = Square(side: 5, color: "blue")
        #expect(try restored(square) == square)
    }

    @Test func `equal dictionaries → equal bytes`() throws {
        let keys = (0..<50).map { "key \($0)" }
        let first = Dictionary(uniqueKeysWithValues: keys.map { ($0, 1) })
        let second = Dictionary(uniqueKeysWithValues: keys.reversed().map { ($0, 1) })
        #expect(try ContentValue(encoding: first).encode() == ContentValue(encoding: second).encode())
    }

    // M-17
    @Test func `a list nested beyond the bound → an error without deep recursion`() throws {
        var list = List(next: nil)
        for _ in 0..<100 { list = List(next: list) }
        #expect(throws: EncodingError.self) { try ContentValue(encoding: list) }
    }
}
