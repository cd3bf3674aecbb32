/// What waits on a link to be sent or acknowledged, in bytes.
struct LinkBacklog: Equatable, Sendable {
    /// Messages of sessions that may take their time: media and files.
    var bulk = 0
    /// Messages of all other sessions.
    var talk = 0
    /// Frames that are no messages and no requests; of responses what they take beside their bodies.
    var others = 0
    /// Requests and the bodies of responses, which other members send and which have a bound of their own.
    var requests = 0

    /// All but requests.
    var byteCount: Int { bulk + talk + others }
}
