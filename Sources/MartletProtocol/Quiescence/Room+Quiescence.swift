internal import MartletWire

extension Room {
    /// What is left over although every member is connected and has everything.
    func quiescence() -> QuiescenceCheck {
        var check = QuiescenceCheck("room \(name)")
        check.equal("loading", isLoading, false)
        check.empty("joins that wait", count: work.waiting.count)
        check.equal("bytes that wait to become durable", work.pendingByteCount, 0)
        check.equal("the head", head, durable)
        check.empty("messages that are not durable", count: work.unstored.count + (work.storing?.count ?? 0))
        check.empty("publishers that were not answered", count: work.unconfirmed.count)
        check.empty("acceptances that were not told", count: work.posters.count)
        check.empty("members that were not given everything", count: work.unfinished.count)
        check.equal("messages that were not offered", hasNews, false)
        check.empty("requests without an answer", count: work.requests.count)
        check.unset("the requests' timer", work.requestTimers.earliest)
        let live = members.slots.filter { members.isLive($0) }
        check.equal("members", live.count, memberCount)
        let accounts = Set(live.map { members[$0].who.account })
        check.equal("members by account", accounts.reduce(0) { $0 + memberSlots(of: $1).count }, memberCount)
        check.equal("memory for what is under way", isBusy && tail.isEmpty, false)
        for slot in live { check.add(members[slot].quiescence(durable: durable)) }
        return check
    }
}

extension RoomMember {
    fileprivate func quiescence(durable: UInt64) -> QuiescenceCheck {
        var check = QuiescenceCheck("member \(who.device)")
        check.equal("credit", credit, RoomMember.creditByteCount)
        check.equal("cursor", cursor, durable)
        check.equal("marks", isSuspended || isAway || isReading || isHeldBack || isUnfinished, false)
        check.empty("runs of acceptances", count: accepted.count)
        check.empty("requests asked", count: asked.count)
        check.equal("requests to answer", answeringCount, 0)
        return check
    }
}
