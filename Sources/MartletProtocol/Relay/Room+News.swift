import MartletWire

/// What members are told as their links have room for it: it waits here and not in their queues, so others cannot fill
/// these (R-52, Specs/hostile.md row 46, Specs/hostile.md row 47).
extension Room {
    /// A member is to be told of an account's mark.
    mutating func noteMark(
        _ mark: Receipt.Mark, of account: AccountName, on device: DeviceID?, for slot: Int,
        into effects: inout Deque<RoomEffect>
    ) {
        changeNews(of: slot, into: &effects) { $0.note(mark, of: account, on: device) }
    }

    /// A member is to be told that a request is withdrawn.
    mutating func noteWithdrawn(_ number: UInt64, for slot: Int, into effects: inout Deque<RoomEffect>) {
        changeNews(of: slot, into: &effects) { $0.note(withdrawn: number) }
    }

    /// The link is told once that there is something, until it has asked for it.
    private mutating func changeNews(
        of slot: Int, into effects: inout Deque<RoomEffect>, _ change: (inout MemberNews) -> Void
    ) {
        if work.news[slot] == nil { effects.append(.pending(members[slot].key)) }
        let before = work.news[slot]?.accountCount ?? 0
        change(&work.news[slot, default: MemberNews()])
        work.newsAccountCount += (work.news[slot]?.accountCount ?? 0) - before
    }

    /// A member's link has room for some of what waits: withdrawn requests first, which others' new ones wait for.
    mutating func sendPending(_ handle: MemberHandle, into effects: inout Deque<RoomEffect>) {
        guard let slot = slot(handle), var mine = takeNews(of: slot) else { return }
        var room = MemberNews.maxToldCount
        while room > 0, let number = mine.popWithdrawn() {
            // One that was answered meanwhile, was not passed on, or is over at its deadline, is not withdrawn.
            guard work.requests[number]?.isWithdrawn == true else { continue }
            finish(number)
            send(.cancel, EncodedBody(CancelRequest(correlation: number).encode()), to: slot, into: &effects)
            room -= 1
        }
        while room > 0, let (account, marks) = mine.popMarks() {
            guard let progress = progress[account] else { continue }
            for (mark, upTo, origin) in [
                (Receipt.Mark.delivered, progress.delivered, marks.delivered), (.read, progress.read, marks.read),
            ] {
                guard let origin else { continue }
                let told = Receipt.Progress(mark, upTo: upTo, sender: account, device: origin.device)
                send(.receipt, EncodedBody(Receipt.progress(told).encode()), to: slot, into: &effects)
                room -= 1
            }
        }
        guard !mine.isEmpty else { return }
        work.newsAccountCount += mine.accountCount
        work.news[slot] = mine
        effects.append(.pending(members[slot].key))
    }

    /// Takes out all that waits for a member.
    @discardableResult
    mutating func takeNews(of slot: Int) -> MemberNews? {
        guard isBusy, let mine = work.news.removeValue(forKey: slot) else { return nil }
        work.newsAccountCount -= mine.accountCount
        return mine
    }
}
