package import MartletWire

/// The integers of a valid body, and the values at which arithmetic can trap. A test replaces one integer after another
/// and delivers the body: no value ends the process.
package enum NumberEdges {
    /// The bytes of an integer in a body.
    package struct Place: Hashable, Sendable {
        package let offset: Int
        package let byteCount: Int
    }

    /// The widths of the integers at the start of values with several ones. A value with more bytes has further
    /// integers with the last width in the tags of `lists`.
    package static let widths: [Tag: [Int]] = [
        .sessionPosition: [2, 8], .echo: [4, 4], .sessionAck: [2, 8, 8], .acceptedRun: [8, 4, 8], .standing: [1, 1, 8],
        .chunk: [8, 8], .target: [8, 8, 8],
    ]
    private static let lists: Set<Tag> = [.sessionAck]
    /// The values whose bytes are TLVs.
    private static let bodies: Set<Tag> = [.message, .entry]

    /// The integers of a body, those in containers included.
    package static func places(in body: [UInt8]) -> [Place] {
        var places: [Place] = []
        add(body.indices, of: body, to: &places)
        return places
    }

    private static func add(_ range: Range<Int>, of body: [UInt8], to places: inout [Place]) {
        var offset = range.lowerBound
        while offset + TLVLimits.headByteCount <= range.upperBound {
            let tag = Tag(rawValue: UInt16(integer(at: Place(offset: offset, byteCount: 2), of: body)))
            let start = offset + TLVLimits.headByteCount
            offset = start + Int(integer(at: Place(offset: start - 4, byteCount: 4), of: body))
            guard offset <= range.upperBound else { return }
            if tag.isContainer || bodies.contains(tag) {
                add(start..<offset, of: body, to: &places)
            } else if let widths = widths[tag] {
                var next = start
                for width in widths where next + width <= offset {
                    places.append(Place(offset: next, byteCount: width))
                    next += width
                }
                while lists.contains(tag), let width = widths.last, next + width <= offset {
                    places.append(Place(offset: next, byteCount: width))
                    next += width
                }
            } else if [1, 2, 4, 8].contains(offset - start) {
                places.append(Place(offset: start, byteCount: offset - start))
            }
        }
    }

    /// The integer at a place.
    package static func integer(at place: Place, of body: [UInt8]) -> UInt64 {
        body[place.offset..<place.offset + place.byteCount].reduce(0) { $0 << 8 | UInt64($1) }
    }

    /// Zero, the powers of two at the bounds of integers, some of them with their neighbors, the bounds of limits, the
    /// neighbors of `present`, and the highest values, which are negative for a signed type.
    package static func values(byteCount: Int, near present: UInt64) -> [UInt64] {
        let powers = [7, 8, 15, 16, 31, 32, 53, 62, 63].map { 1 << $0 } as [UInt64]
        let pairs = [1, 1 << 8, 1 << 16, 1 << 32, 1 << 63, present].flatMap { [$0 &- 1, $0, $0 &+ 1] } as [UInt64]
        let limits = byteCount == 4 ? [16_383, 16_384, 17_407, 17_408] as [UInt64] : []
        let highest = UInt64.max >> UInt64(64 - 8 * byteCount)
        return Set(powers + pairs + limits + [highest - 1, highest]).filter { $0 <= highest }.sorted()
    }

    /// The body with another integer at a place.
    package static func body(_ body: [UInt8], with value: UInt64, at place: Place) -> [UInt8] {
        var body = body
        for index in 0..<place.byteCount {
            body[place.offset + index] = UInt8(truncatingIfNeeded: value >> UInt64(8 * (place.byteCount - 1 - index)))
        }
        return body
    }

    /// All bodies with another value of one integer.
    package static func bodies(of body: [UInt8]) -> [[UInt8]] {
        places(in: body).flatMap { place in
            let present = integer(at: place, of: body)
            return values(byteCount: place.byteCount, near: present).filter { $0 != present }
                .map { self.body(body, with: $0, at: place) }
        }
    }
}
