/// How much one loop has told another that may not have been taken yet.
///
/// When half a window has been told, the other is asked whether it has taken it; when another half has gone before the
/// answer is there, no more is read from those who bring it.
struct LoopTraffic {
    /// Messages on their way from one loop to another, beyond which connections are held up.
    static let windowCount = 16_384

    /// Messages told since the other loop was asked last.
    private var count = 0
    private var isAsking = false

    var isFull: Bool { isAsking && count >= Self.windowCount / 2 }

    /// Whether the other loop is to be asked now.
    mutating func tell(_ messageCount: Int) -> Bool {
        count += messageCount
        guard !isAsking, count >= Self.windowCount / 2 else { return false }
        isAsking = true
        count = 0
        return true
    }

    /// The other loop has taken all that it was told before it was asked.
    mutating func caughtUp() {
        isAsking = false
    }
}
