import MartletLink
import MartletRelay
import MartletTestKit

/// A connection between a client and a relay, from the connect to the close of both ends.
struct VirtualConnection {
    /// One end of a connection.
    struct Side {
        var isOpen = true
        /// The end closes when its remaining bytes have been sent.
        var isClosing = false
        /// Arrived bytes that have not been read.
        var unread: [VirtualWorld.Segment] = []
        /// The carrier has ended after the unread bytes.
        var hasEnded = false
    }

    let client: Int
    let id: ConnectionID
    let key: ConnectionKey
    let relay: VirtualRelay
    /// The generation of the process that accepted the connection.
    private let generation: Int
    var up = VirtualPipe()
    var down = VirtualPipe()
    var clientSide = Side()
    var relaySide = Side()
    /// The relay has paused reading.
    var isPaused = false
    /// The network drops all bytes without notice.
    var hasNoMapping = false
    /// TLS; nil without, and after both ends have closed.
    var tls: VirtualTLSConnection?

    init(client: Int, id: ConnectionID, key: ConnectionKey, relay: VirtualRelay) {
        self.client = client
        self.id = id
        self.key = key
        self.relay = relay
        generation = relay.generation
    }

    /// Whether the present process of a relay has accepted the connection.
    func isOf(_ relay: VirtualRelay) -> Bool { self.relay === relay && generation == relay.generation }

    var relayIsOpen: Bool {
        get { relaySide.isOpen }
        set { relaySide.isOpen = newValue }
    }

    subscript(atRelay atRelay: Bool) -> Side {
        get { atRelay ? relaySide : clientSide }
        set { if atRelay { relaySide = newValue } else { clientSide = newValue } }
    }

    /// The direction in which an end sends.
    subscript(pipeFromRelay fromRelay: Bool) -> VirtualPipe {
        get { fromRelay ? down : up }
        set { if fromRelay { down = newValue } else { up = newValue } }
    }
}
