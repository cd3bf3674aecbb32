package import MartletWire

/// A call of the store that an engine requests: the cases of `RoomStoreCall` with the room or the reader that takes the
/// answer.
package enum StoreQuestion: Sendable {
    case load(RoomName)
    case append(RoomAppend)
    indirect case read(RoomName, ReadID, ReadRange)
    case saveProgress(RoomName, [AccountName: AccountProgress])
    indirect case saveRoles(RoomName, [UInt8], replacing: UInt64, creation: RoomCreation?)
    case saveMemberships(RoomName, MembershipChanges)
    indirect case readMemberships(MembershipReadID, MembershipRead)
    indirect case saveRetention(RoomName, RoomRetention)
    /// The driver asks this itself.
    case touch([RoomName])
    case changes(since: [RoomRevision])

    /// The call of a store. The answer is passed to `done`, on any thread.
    package func call(_ done: @escaping @Sendable (StoreAnswer) -> Void) -> RoomStoreCall {
        switch self {
        case .load(let room): .load(room, RoomStoreReply { done(.load(room, $0)) })
        case .append(let append):
            .append(
                append,
                RoomStoreReply {
                    [room = append.room, end = append.entries.last?.offset, count = append.entries.count] in
                    done(.append(room, upTo: end, messageCount: count, $0))
                })
        case .read(let room, let id, let range): .read(range, of: room, RoomStoreReply { done(.read(room, id, $0)) })
        case .saveProgress(let room, let progress):
            .saveProgress(progress, of: room, RoomStoreReply { done(.saveProgress(room, $0)) })
        case .saveRoles(let room, let roles, let version, let creation):
            .saveRoles(
                roles, of: room, replacing: version, creation: creation, RoomStoreReply { done(.saveRoles(room, $0)) })
        case .saveMemberships(let room, let changes):
            .saveMemberships(changes, of: room, RoomStoreReply { done(.saveMemberships(room, $0)) })
        case .readMemberships(let id, let read):
            .readMemberships(read, of: id.account, RoomStoreReply { done(.readMemberships(id, $0)) })
        case .saveRetention(let room, let bounds):
            .saveRetention(bounds, of: room, RoomStoreReply { done(.saveRetention(room, bounds, $0)) })
        case .touch(let rooms): .touch(rooms, RoomStoreReply { done(.touch(rooms, $0)) })
        case .changes(let since): .changes(since: since, RoomStoreReply { done(.changes($0)) })
        }
    }
}

/// The answer of the store to a `StoreQuestion`.
package enum StoreAnswer: Sendable {
    case load(RoomName, Result<RoomSnapshot, RoomStoreError>)
    /// `upTo` is the last offset that is durable after a success, and `messageCount` the number of its messages. The
    /// value is the lowest offset that the store keeps.
    case append(RoomName, upTo: UInt64?, messageCount: Int, Result<UInt64, RoomStoreError>)
    indirect case read(RoomName, ReadID, Result<RoomHistory, RoomStoreError>)
    case saveProgress(RoomName, Result<Void, RoomStoreError>)
    case saveRoles(RoomName, Result<Void, RoomStoreError>)
    case saveMemberships(RoomName, Result<Set<AccountName>, RoomStoreError>)
    indirect case readMemberships(MembershipReadID, Result<[StoredRoomEntry], RoomStoreError>)
    indirect case saveRetention(RoomName, RoomRetention, Result<Void, RoomStoreError>)
    case touch([RoomName], Result<Void, RoomStoreError>)
    case changes(Result<[RoomRevision], RoomStoreError>)
}
