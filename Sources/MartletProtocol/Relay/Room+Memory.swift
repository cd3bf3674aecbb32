import MartletWire

/// What a room takes, and what of its log it can do without.
extension Room {
    /// What a room, what is under way in it, a member, a device's mark, an account's progress and a request take, in
    /// bytes.
    static let baseByteCount = MemoryLayout<Room>.stride + 96
    static let workByteCount = MemoryLayout<Work>.stride + 96
    static let memberByteCount = MemoryLayout<RoomMember>.stride + 32
    static let markByteCount = 192
    static let progressByteCount = 64
    static let requestByteCount = 256
    /// What an account takes whose marks a member is still to be told.
    static let newsByteCount = 96
    /// What a message in memory takes beside its body, in bytes.
    static let entryByteCount = 128
    /// What a room keeps of what is durable when memory is short.
    static let leastTailBounds = LogRows.Bounds(maxCount: 16, maxByteCount: 4096)

    /// How much more it holds than when it was asked last, in bytes with objects.
    @inline(__always)
    mutating func takeChargeChange() -> Int {
        var byteCount = Room.baseByteCount + work.pendingByteCount + tail.byteCount
        byteCount += (tail.count + work.unstored.count + (work.storing?.count ?? 0)) * Room.entryByteCount
        byteCount += name.text.utf8.count + (isBusy ? Room.workByteCount : 0)
        byteCount += members.slots.count * Room.memberByteCount + marks.count * Room.markByteCount
        byteCount += progress.count * Room.progressByteCount + work.requests.count * Room.requestByteCount
        byteCount += work.waiting.count * Room.memberByteCount + work.newsAccountCount * Room.newsByteCount
        defer { chargedByteCount = byteCount }
        return byteCount - chargedByteCount
    }

    /// Lets go of messages that the store has, but for the last few.
    mutating func trimTail() {
        tail.trim(to: Room.leastTailBounds)
    }

    /// Turns a member away that posts while the relay has no memory left; its order is kept.
    mutating func refusePost(_ handle: MemberHandle, credit: Int, into effects: inout Deque<RoomEffect>) {
        turnAway(handle, credit, .serverBusy, into: &effects)
    }
}
