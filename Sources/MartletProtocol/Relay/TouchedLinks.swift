/// The numbers of links that something was done for, which are still to be asked what they want to send.
///
/// A group of them is asked at a time: so many lie in a processor's cache while they are, and the first members of a
/// large room are sent to before the relay has come to the last.
struct TouchedLinks: Sendable {
    /// Links of one group.
    static let groupCount = 64

    private var slots: [Int] = []
    /// In front, those that belong to no group and wait until there is nothing else to do.
    private var keptCount = 0
    /// Memory for the next ones.
    private var spare: [Int] = []

    var isEmpty: Bool { slots.isEmpty }

    var isGroupFull: Bool { slots.count - keptCount >= TouchedLinks.groupCount }

    mutating func append(_ slot: Int) {
        slots.append(slot)
    }

    /// Takes all, to be given back when they have been asked.
    mutating func takeAll() -> [Int] {
        keptCount = 0
        defer {
            slots = spare
            spare = []
        }
        return slots
    }

    /// Keeps one that was taken for the last group, before any other is appended.
    mutating func keep(_ slot: Int) {
        slots.insert(slot, at: keptCount)
        keptCount += 1
    }

    /// Gives back the memory of those that were taken.
    mutating func giveBack(_ taken: consuming [Int]) {
        taken.removeAll(keepingCapacity: true)
        spare = taken
    }
}

extension RelayEngine {
    mutating func touch(_ slot: Int) {
        guard links.isLive(slot), !links[slot].isTouched else { return }
        links[slot].isTouched = true
        touched.append(slot)
    }

    /// Asks the links that were touched what they want to send, and when they want to be looked at again.
    ///
    /// - Parameter isGroup: there are effects left, and links that hold messages back let them flow when there are
    ///   none.
    mutating func flushTouched(isGroup: Bool, now: Instant) {
        let slots = touched.takeAll()
        // Whoever was sent something goes before whoever sent it and waits for an acknowledgement only.
        for slot in slots.reversed() where links.isLive(slot) {
            if isGroup, links[slot].isHoldingBack {
                touched.keep(slot)
                continue
            }
            links[slot].isTouched = false
            if links[slot].isHoldingBack || links[slot].isMuchQueued { releaseHeldBack(slot) }
            if !links[slot].news.isEmpty { askForNews(slot) }
            settle(slot)
            links[slot].link.asksForAck = links[slot].isHoldingBack
            guard let connection = links[slot].connection else { continue }
            // When it wants to be looked at again is known when it has sent, unless that takes a while.
            if links[slot].hasOutput(now: now), askToTransmit(connection, now: now) { continue }
            armLink(slot, links[slot].deadline(now: now))
        }
        touched.giveBack(slots)
    }
}
