/// Bytes of messages that the application was given and has not taken, of one room or of all.
///
/// Credit bounds what one session brings. When a session ends its credit goes back, for its successor's sake, while the
/// application may still hold what it brought; so a server that resets sessions or loses links would fill an
/// application that does not read. This bound outlives sessions and links (R-46, Specs/hostile.md row 35).
///
/// | room | what comes | ends |
/// |---|---|---|
/// | taking | goes to the application and counts here | with the first message that comes when this is full: lagging |
/// | lagging | is dropped, the cursor stays, and its credit is kept | when half has been taken: reopened |
struct HeldMessages: Equatable, Sendable {
    /// Bytes from which on no further message is taken.
    let maxByteCount: Int
    private(set) var byteCount = 0

    init(maxByteCount: Int) {
        self.maxByteCount = maxByteCount
    }

    var isFull: Bool { byteCount >= maxByteCount }

    /// Whether there is enough room to begin again.
    var isHalfEmpty: Bool { byteCount <= maxByteCount / 2 }

    mutating func give(_ byteCount: Int) {
        self.byteCount += byteCount
    }

    /// Answers how many bytes of these were held.
    mutating func take(_ byteCount: Int) -> Int {
        let taken = min(byteCount, self.byteCount)
        self.byteCount -= taken
        return taken
    }
}
