/// What waits on a link to be sent or acknowledged, in bytes.
struct LinkBacklog: Equatable, Sendable {
    /// Messages of sessions that may take their time: media and files.
    var bulk = 0
    /// Messages of all other sessions.
    var talk = 0
    /// Frames that are no messages.
    var others = 0

    var byteCount: Int { bulk + talk + others }
}
