import MartletDatabase
import MartletLink
import MartletRelay
import MartletWire

/// The rows of the rooms and devices of the last appends, so that an append reads none. The rows are those of the open
/// transaction; a rollback and every change that is not an append empty the cache.
struct AppendCache {
    /// The number of rooms and of devices at which the cache is emptied.
    static let maxRowCount = 16_384

    private struct RoomDevice: Hashable {
        let room: Int64
        let device: DeviceKey
    }

    private var rooms: [RoomName: RoomRow] = [:]
    private var devices: [RoomDevice: DeviceRecord] = [:]

    func row(of room: RoomName) -> RoomRow? { rooms[room] }

    mutating func store(_ row: RoomRow, of room: RoomName) {
        if rooms.count >= Self.maxRowCount { rooms = [:] }
        rooms[room] = row
    }

    func record(of device: DeviceKey, in room: Int64) -> DeviceRecord? {
        devices[RoomDevice(room: room, device: device)]
    }

    mutating func store(_ record: DeviceRecord, of device: DeviceKey, in room: Int64) {
        if devices.count >= Self.maxRowCount { devices = [:] }
        devices[RoomDevice(room: room, device: device)] = record
    }

    mutating func removeAll() {
        rooms = [:]
        devices = [:]
    }
}
