import MartletLink
import MartletRelay
import MartletWire

/// The records of devices, to which messages of the log are added in their order.
///
/// An append writes no row of a device: the records are a fold of the log. The rows have it up to the folded offset of
/// the room, so that a load adds the messages behind it only.
struct DeviceFold {
    struct Row: Equatable {
        var record = DeviceRecord()
        var lastOffset: UInt64 = 0
    }

    private(set) var rows: [DeviceKey: Row] = [:]

    /// Adds stored rows, with the columns of `PostgresStatements.devices`.
    mutating func add(_ result: PostgresResult, of room: RoomName) throws {
        for row in result.rows {
            guard let account = result.text(row, 0).flatMap({ AccountName($0) }),
                let record = DeviceRecord(
                    counter: result.uint64(row, 2), seen: result.uint64(row, 3), gapBytes: result.bytes(row, 4),
                    digestBytes: result.bytes(row, 5), usedAt: result.uint64(row, 7))
            else { throw PostgresError.damaged(room: room.text, offset: 0) }
            let key = DeviceKey(account: account, device: DeviceID(rawValue: result.uint64(row, 1)))
            rows[key] = Row(record: record, lastOffset: result.uint64(row, 6))
        }
    }

    /// Adds messages. Consecutive ones of a device share an access to the table.
    mutating func add(_ entries: [LogEntry]) {
        var start = 0
        while start < entries.count {
            let first = start
            repeat { start += 1 } while start < entries.count && entries[start].hasSameDevice(as: entries[start - 1])
            let key = DeviceKey(account: entries[first].sender, device: entries[first].device)
            rows[key, default: Row()].record.insert(countersOf: entries[first..<start])
            rows[key]?.lastOffset = entries[start - 1].offset
        }
    }

    /// The statement that saves all rows, which contain the log up to its end.
    func query(of row: RoomRow) -> PostgresQuery {
        let sorted = rows.sorted { ($0.key.account, $0.key.device.rawValue) < ($1.key.account, $1.key.device.rawValue) }
        let records = sorted.map(\.value.record)
        var query = PostgresQuery(PostgresStatements.fold)
        query.add(row.id)
        query.add(row.log.rawValue)
        query.add(row.foldedOffset)
        query.add(row.lastOffset)
        query.add(sorted.map { $0.key.account.bytes })
        query.add(sorted.map(\.key.device.rawValue))
        query.add(records.map(\.watermark))
        query.add(records.map(\.seen))
        query.add(records.map(\.gapBytes))
        query.add(records.map(\.digestBytes))
        query.add(sorted.map(\.value.lastOffset))
        query.add(records.map(\.usedAt))
        return query
    }
}

extension WireName {
    /// The bytes of the name, which the database compares and sorts.
    var bytes: [UInt8] { Array(text.utf8) }
}
