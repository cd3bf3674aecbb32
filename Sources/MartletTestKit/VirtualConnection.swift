import MartletProtocol

/// A connection between a client and a relay, from the client's dial to both ends' end.
struct VirtualConnection {
    /// One side of it.
    struct Side {
        var isOpen = true
        /// It ends when what is left has been sent.
        var isClosing = false
        /// What has arrived and was not read.
        var unread: [[UInt8]] = []
    }

    let client: Int
    let id: ConnectionID
    let key: ConnectionKey
    /// The relay that it was made with.
    let era: Int
    var up = VirtualPipe()
    var down = VirtualPipe()
    var clientSide = Side()
    var relaySide = Side()
    /// The relay has asked to read no more.
    var isPaused = false
    /// Nothing comes through, and nobody is told.
    var isForgotten = false

    init(client: Int, id: ConnectionID, key: ConnectionKey, era: Int) {
        self.client = client
        self.id = id
        self.key = key
        self.era = era
    }

    var relayIsOpen: Bool {
        get { relaySide.isOpen }
        set { relaySide.isOpen = newValue }
    }

    subscript(atRelay atRelay: Bool) -> Side {
        get { atRelay ? relaySide : clientSide }
        set { if atRelay { relaySide = newValue } else { clientSide = newValue } }
    }

    /// The direction in which a side sends.
    subscript(pipeFromRelay fromRelay: Bool) -> VirtualPipe {
        get { fromRelay ? down : up }
        set { if fromRelay { down = newValue } else { up = newValue } }
    }
}
