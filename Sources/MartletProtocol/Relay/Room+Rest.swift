import MartletWire

/// A small room without messages in memory is kept packed while nothing happens to it. What a larger one takes for
/// itself is little beside its members, and what it has in memory is there to be read.
extension Room: Packable {
    /// Members, free places and devices that a room with a rest has at the most.
    static let maxRestingCount = 16

    mutating func mayRest() -> Bool {
        let wasTouched = wasTouched
        self.wasTouched = false
        guard !wasTouched, !isTouched, !isLoading, waiting.isEmpty, !hasNews, tail.isEmpty, storing == nil,
            pendingByteCount == 0, unstored.isEmpty, unconfirmed.isEmpty, unfinished.isEmpty, posters.isEmpty,
            closing.isEmpty, requests.isEmpty, presenceChanges.isEmpty, news.isEmpty,
            members.slots.count <= Room.maxRestingCount, marks.count <= Room.maxRestingCount,
            progress.count <= Room.maxRestingCount
        else { return false }
        return members.slots.allSatisfy { !members.isLive($0) || members[$0].isAtRest }
    }

    mutating func pass(_ packer: inout Packer) {
        packer.pass(&name)
        packer.pass(&index)
        packer.pass(&loop)
        packer.pass(&isLoading)
        packer.pass(&log, LogID(rawValue: 0)) { $0.passRaw(&$1.rawValue) }
        packer.pass(&first)
        packer.pass(&head)
        packer.pass(&durable)
        tail.pass(&packer)
        packer.pass(&nextCorrelation)
        packer.pass(&chargedByteCount)
        presenceChanges.pass(&packer)
        members.pass(&packer, RoomMember.blank) { $0.pass(&$1) }
        packer.pass(&memberCount)
        passSlotsOfAccounts(&packer)
        marks.pass(&packer)
        passProgress(&packer)
    }

    init(unpacking packer: inout Packer) {
        self.init(name: .blank, index: 0)
        pass(&packer)
    }

    /// An account's slots are in the order in which they came, which the slots do not show.
    private mutating func passSlotsOfAccounts(_ packer: inout Packer) {
        var lists = packer.isUnpacking ? [] : slotsOfAccount.values.sorted { $0[0] < $1[0] }
        packer.pass(&lists, []) { packer, list in packer.pass(&list, 0) { $0.pass(&$1) } }
        guard packer.isUnpacking else { return }
        for list in lists { slotsOfAccount[members[list[0]].who.account] = list }
    }

    private mutating func passProgress(_ packer: inout Packer) {
        var accounts = packer.isUnpacking ? [] : progress.keys.sorted { $0.text < $1.text }
        packer.pass(&accounts, DeviceKey.blank.account) { $0.pass(&$1) }
        for account in accounts {
            var mine = progress[account] ?? Progress()
            packer.pass(&mine.delivered)
            packer.pass(&mine.read)
            progress[account] = mine
        }
    }
}

extension RoomMember {
    /// Whether the member waits for nothing that was begun.
    var isAtRest: Bool { !isReading && !isUnfinished && accepted.isEmpty && asked.isEmpty && answeringCount == 0 }

    fileprivate static var blank: RoomMember {
        RoomMember(
            key: MemberKey(link: LinkKey(slot: 0, generation: 0), session: .control), who: .blank, cursor: 0,
            noLocal: false)
    }
}

extension Packer {
    fileprivate mutating func pass(_ member: inout RoomMember) {
        pass(&member.key.link.slot)
        pass(&member.key.link.generation)
        pass(&member.key.link.loop)
        pass(&member.key.session)
        pass(&member.who)
        pass(&member.cursor)
        var used = RoomMember.creditByteCount - member.credit
        pass(&used)
        member.credit = RoomMember.creditByteCount - used
        pass(&member.noLocal)
        pass(&member.features)
        pass(&member.isSuspended)
        pass(&member.isAway)
        pass(&member.isHeldBack)
        pass(&member.mark)
    }

    fileprivate mutating func pass(_ account: inout AccountName) {
        var text = account.text
        pass(&text)
        if isUnpacking, let name = AccountName(text) { account = name }
    }
}
