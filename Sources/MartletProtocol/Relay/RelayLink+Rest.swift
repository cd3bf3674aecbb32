import MartletWire

/// A link that nothing has happened to for a while is kept packed.
extension RelayLink: Packable {
    mutating func mayRest() -> Bool {
        let wasTouched = wasTouched
        self.wasTouched = false
        guard !wasTouched, !isTouched, link.isAtRest, connection == nil || link.deadline == nil else { return false }
        guard !isHoldingBack, news.isEmpty, heldByteCount == 0,
            sessions.values.allSatisfy({ $0.held.isEmpty && $0.handle != nil }), framer?.framer.isAtRest != false
        else { return false }
        // Nothing waits, so this is exact.
        queued = LinkBacklog()
        link.scheduler.beginAnew()
        // What is still set rings for nothing.
        armedAt = nil
        return true
    }

    mutating func pass(_ packer: inout Packer) {
        packer.pass(&key.slot)
        packer.pass(&key.generation)
        packer.pass(&key.loop)
        var number = id.rawValue
        packer.passRaw(&number)
        id = LinkID(rawValue: number)
        packer.pass(&who)
        packer.pass(&account)
        packer.pass(&chargedByteCount)
        link.pass(&packer)
        packer.pass(&epoch)
        packer.pass(&token)
        packer.pass(&connection)
        passFramer(&packer)
        packer.pass(&suspendedAt)
        passMemberships(&packer)
        transients.pass(&packer)
        packer.pass(&cancelsDue)
    }

    init(unpacking packer: inout Packer) {
        self.init(
            key: LinkKey(slot: 0, generation: 0), id: LinkID(rawValue: 0), who: .blank,
            account: 0, link: Link(blank: ()), token: TokenDigest(0, 0, 0, 0))
        pass(&packer)
    }

    /// All that is left of a framer that holds nothing is its context.
    private mutating func passFramer(_ packer: inout Packer) {
        var context = framer?.framer.packedContext ?? []
        packer.pass(&context)
        guard packer.isUnpacking else { return }
        framer = context.isEmpty ? nil : framer(packedContext: context)
    }

    private mutating func passMemberships(_ packer: inout Packer) {
        var count = sessions.count
        packer.pass(&count)
        if packer.isUnpacking { sessions.reserveCapacity(count) }
        for index in 0..<count {
            var session = packer.isUnpacking ? SessionID.control : sessions.keys[index]
            packer.pass(&session)
            if packer.isUnpacking { sessions[session] = Membership(room: nil, isBulk: false) }
            RelayLink.pass(&sessions.values[index], MemberKey(link: key, session: session), &packer)
        }
    }

    private static func pass(_ membership: inout Membership, _ member: MemberKey, _ packer: inout Packer) {
        packer.pass(&membership.isBulk)
        packer.pass(&membership.handle, MemberHandle(room: 0, slot: 0, key: member)) {
            $0.pass(&$1.room)
            $0.pass(&$1.slot)
            $0.pass(&$1.loop)
        }
        packer.pass(&membership.room, .blank) { $0.pass(&$1) }
        packer.pass(&membership.isSuspended)
        packer.pass(&membership.isHeldBack)
        membership.receipts.pass(&packer)
    }
}

extension Packer {
    mutating func pass(_ who: inout DeviceKey) {
        var text = who.account.text
        pass(&text)
        if isUnpacking, let account = AccountName(text) { who.account = account }
        passRaw(&who.device.rawValue)
    }

    mutating func pass(_ room: inout RoomName) {
        var text = room.text
        pass(&text)
        if isUnpacking, let name = RoomName(text) { room = name }
    }

    fileprivate mutating func pass(_ token: inout TokenDigest) {
        var words = token.words
        passRaw(&words.0)
        passRaw(&words.1)
        passRaw(&words.2)
        passRaw(&words.3)
        if isUnpacking { token = TokenDigest(words.0, words.1, words.2, words.3) }
    }
}

// What is there until the name has been unpacked.
extension DeviceKey {
    static let blank = DeviceKey(account: AccountName("-")!, device: DeviceID(rawValue: 0))
}

extension RoomName {
    static let blank = RoomName("-")!
}
