import MartletDatabase
import MartletWire

/// The gaps of a timeline, which pages of history fill.
final class GapTable {
    private let select: Statement
    private let shorten: Statement
    private let delete: Statement
    private let first: Statement
    private let previous: Statement

    init(_ database: Database) throws {
        select = try database.prepare(
            """
            SELECT id, content FROM entry
            WHERE room = ? AND generation = ? AND sender = '' AND kind = \(TimelineSchema.gap)
            """)
        shorten = try database.prepare("UPDATE entry SET content = ? WHERE id = ?")
        delete = try database.prepare("DELETE FROM entry WHERE id = ?")
        first = try database.prepare(TimelineSchema.firstPosition)
        previous = try database.prepare(
            """
            SELECT position, kind, content FROM entry
            WHERE room = ? AND generation = ? AND position < ? AND kind <> \(TimelineSchema.replacedLog)
            ORDER BY position DESC LIMIT 1
            """)
    }

    /// The offsets between an offset and the last known offset before it; nil if there are none.
    func missing(before offset: Int64, generation: Int64, room: Int64) throws -> ClosedRange<UInt64>? {
        previous.bind(1, room)
        previous.bind(2, generation)
        previous.bind(3, offset)
        defer { previous.reset() }
        guard try previous.step() else { return nil }
        let isGap = previous.int64(1) == TimelineSchema.gap
        let last = isGap ? previous.bytes(2).offsets?.upperBound : UInt64(exactly: previous.int64(0))
        guard let last, let offset = UInt64(exactly: offset), last < offset, offset - last > 1 else { return nil }
        return last + 1...offset - 1
    }

    /// Removes offsets from the gaps.
    ///
    /// - Returns: New gaps: the rest of a gap behind the offsets, and the offsets between them and the first known one.
    func cover(
        _ offsets: ClosedRange<UInt64>, generation: Int64, room: Int64
    ) throws -> [ClosedRange<UInt64>] {
        var added: [ClosedRange<UInt64>] = []
        first.bind(1, room)
        first.bind(2, generation)
        if let position = try first.firstInt64(), let known = UInt64(exactly: position),
            offsets.upperBound < known, known - offsets.upperBound > 1
        {
            added.append(offsets.upperBound + 1...known - 1)
        }
        for (id, gap) in try gaps(generation, room) where gap.overlaps(offsets) {
            if gap.upperBound > offsets.upperBound { added.append(offsets.upperBound + 1...gap.upperBound) }
            if gap.lowerBound < offsets.lowerBound {
                shorten.bind(1, [UInt8].numbers(gap.lowerBound, offsets.lowerBound - 1))
                shorten.bind(2, id)
                try shorten.run()
            } else {
                delete.bind(1, id)
                try delete.run()
            }
        }
        return added
    }

    private func gaps(_ generation: Int64, _ room: Int64) throws -> [(Int64, ClosedRange<UInt64>)] {
        select.bind(1, room)
        select.bind(2, generation)
        defer { select.reset() }
        var gaps: [(Int64, ClosedRange<UInt64>)] = []
        while try select.step() {
            if let gap = select.bytes(1).offsets { gaps.append((select.int64(0), gap)) }
        }
        return gaps
    }
}
