import Foundation
import MartletTestSupport
import MartletWire
import Testing

@Suite("Numbers of a body")
struct NumberEdgesTests {
    @Test func `values with several integers in the registry → their widths`() throws {
        let root = (0..<4).reduce(URL(filePath: #filePath)) { url, _ in url.deletingLastPathComponent() }
        let data = try Data(contentsOf: root.appending(path: "Specs/registry.json"))
        let registry = try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
        var widths: [MartletWire.Tag: [Int]] = [:]
        for tag in try #require(registry["tags"] as? [[String: Any]]) {
            guard let parts = tag["parts"] as? String, let text = tag["number"] as? String,
                let number = UInt16(text.dropFirst(2), radix: 16)
            else { continue }
            widths[MartletWire.Tag(rawValue: number)] = parts.components(separatedBy: ", ").map { part in
                (Int(part.prefix { $0 != " " }.dropFirst()) ?? 0) / 8
            }
        }
        #expect(widths == NumberEdges.widths)
    }

    @Test func `a body with containers and lists → each integer with other values`() {
        var inner = TLVWriter()
        inner.append(.counter, uint64: 7)
        var body = TLVWriter()
        body.append(.code, uint16: 3)
        body.append(.reason, string: "why")
        body.append(.message, bytes: inner.bytes)
        body.append(.sessionAck, bytes: [UInt8](repeating: 0, count: 34))
        let places = NumberEdges.places(in: body.bytes)
        #expect(places.map(\.byteCount) == [2, 8, 2, 8, 8, 8, 8])
        #expect(places.map { NumberEdges.integer(at: $0, of: body.bytes) } == [3, 7, 0, 0, 0, 0, 0])
        let values = NumberEdges.values(byteCount: 2, near: 3)
        #expect(values.isSuperset(of: [0, 1, 2, 4, 127 + 1, 255, 256, 0x7FFF + 1, 0xFFFE, 0xFFFF]))
        #expect(values.allSatisfy { $0 <= 0xFFFF })
        let changed = NumberEdges.bodies(of: body.bytes)
        #expect(Set(changed).count == changed.count && !changed.contains(body.bytes))
        #expect(changed.contains(NumberEdges.body(body.bytes, with: .max, at: places[1])))
    }
}

extension [UInt64] {
    fileprivate func isSuperset(of others: Set<UInt64>) -> Bool { Set(self).isSuperset(of: others) }
}
