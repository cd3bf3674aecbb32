public import Martlet
public import MartletTimeline
public import Observation

/// The members of a room with their presence, for a view.
@MainActor @Observable
public final class MemberListModel {
    /// A member of a room.
    public struct Member: Sendable, Equatable, Identifiable {
        /// The account.
        public let account: AccountName
        /// Whether a link of the account has a connection.
        public let isOnline: Bool

        /// The account.
        public var id: AccountName { account }
    }

    /// The members, sorted by name, at most 4096. Typing does not change them.
    public private(set) var members: [Member] = []
    /// The number of members that are online.
    public private(set) var onlineCount = 0
    /// The other accounts that are typing, sorted by name.
    public private(set) var typing: [AccountName] = []
    /// The error with which the room could not be opened.
    public private(set) var failure: ModelError?

    @ObservationIgnored private let name: RoomName
    @ObservationIgnored private let sync: TimelineSync
    @ObservationIgnored private let gate: UpdateGate

    /// Creates a model of a room, which `run` opens.
    public convenience init(of room: RoomName, in sync: TimelineSync) {
        self.init(of: room, in: sync, clock: ContinuousModelClock())
    }

    package init(of room: RoomName, in sync: TimelineSync, clock: any ModelClock) {
        name = room
        self.sync = sync
        gate = UpdateGate(clock)
    }

    /// Publishes each change until the task is cancelled or the room ends.
    public func run() async {
        do {
            let room = try await sync.open(room: name).room
            for await _ in room.snapshots {
                await gate.update { await publish(room) }
            }
            // No event ends the typing of a room that has ended.
            typing = []
        } catch {
            failure = ModelError(error)
        }
    }

    private func publish(_ room: Room) async {
        let (members, typing) = await Self.read(room, own: sync.client.account)
        let count = members.count { $0.isOnline }
        if members != self.members { self.members = members }
        if count != onlineCount { onlineCount = count }
        if typing != self.typing { self.typing = typing }
    }

    @concurrent
    private nonisolated static func read(_ room: Room, own: AccountName) async -> ([Member], typing: [AccountName]) {
        let members = room.snapshot.members
        return (
            members.map { Member(account: $0.account, isOnline: $0.presence == .online) },
            members.filter { $0.isTyping && $0.account != own }.map(\.account)
        )
    }
}
