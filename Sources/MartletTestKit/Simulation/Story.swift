public import MartletWire

/// What is said and what goes wrong in a simulation, as data: a seed draws it, and a shrinker takes parts away.
public struct Story: Sendable {
    /// One thing that happens.
    public struct Step: Sendable {
        /// When, counted from the story's beginning.
        public var at: Duration
        /// What.
        public var deed: Deed
    }

    /// Something that happens. Devices and rooms are indices; a fault with a duration heals by itself.
    public enum Deed: Sendable {
        /// A device sends messages of a size in bytes.
        case say(device: Int, room: Int, count: Int, byteCount: Int)
        /// The device's connections break.
        case cut(device: Int)
        /// Nothing gets through, in the directions given.
        case blackHole(device: Int, VirtualWorld.Way, lasts: Duration)
        /// An address translator forgets the device's connections.
        case forgetTranslations(device: Int)
        /// The device changes from one network to another.
        case switchPath(device: Int, delay: Duration)
        /// The device's process dies; what its disk had not synced may be gone.
        case crash(device: Int, down: Duration)
        /// The relay's process dies; what its store had not synced may be gone.
        case restartRelay(down: Duration)
        /// The relay's process dies, and its store loses a room's log: the next one begins at offset 1.
        case loseLog(room: Int, down: Duration)
        /// The relay's store fails.
        case failStore(StorePart, lasts: Duration)
        /// The device's host does not read.
        case stopReading(device: Int, lasts: Duration)
        /// The device's application takes no messages.
        case stopTaking(device: Int, lasts: Duration)
        /// The application leaves a room alone.
        case suspend(device: Int, room: Int, lasts: Duration)
        /// The application is sent to the background, and brought back.
        case background(device: Int, lasts: Duration)
        /// The user goes offline, and comes back.
        case stop(device: Int, lasts: Duration)
        /// The user wants a connection now.
        case retryNow(device: Int)
        /// The relay's store lets go of a room's messages, but for the last.
        case trim(room: Int, keeps: Int)
        /// Somebody says again what a device has said to resume its link.
        case replayHello(device: Int)
        /// The user of a device has read what it has shown of a room.
        case read(device: Int, room: Int)
        /// The user of a device begins to type, or ends.
        case type(device: Int, room: Int)
        /// A device asks another's account, or with nil the relay.
        case ask(device: Int, of: Int?, room: Int, byteCount: Int, deadline: Duration)
        /// A device gives up the request that it made last.
        case cancelRequest(device: Int)
        /// The application closes a room, and opens it again.
        case close(device: Int, room: Int, lasts: Duration)
        /// The operator revokes the credentials of a device's account, and lets it in again.
        case revoke(device: Int, lasts: Duration)
    }

    /// What of a store fails.
    public enum StorePart: Sendable {
        /// Appending messages.
        case append
        /// Appending the second half of each batch.
        case appendHalf
        /// Loading rooms.
        case load
        /// Reading messages.
        case read
    }

    /// A device and its way to the relay.
    public struct Device: Sendable {
        /// The account; two devices may have the same.
        public var account: String
        /// The path as the story begins.
        public var conditions: PathConditions
        /// What it can do: version 1.0 alone, compact frames, or deflated ones; some have no receipts, presence or
        /// requests.
        public var features: Features
        /// What it is willing to hold.
        public var limits = Limits()
        /// How many messages before a room's head it begins with, when it knows nothing of the room.
        public var tail: UInt32?
    }

    /// The seed that drew the story, and that decides every chance in it.
    public let seed: UInt64
    /// Whether the carrier keeps the order of frames and all of them.
    public var isReliable: Bool
    /// Who takes part.
    public var devices: [Device]
    /// How many rooms there are; every device is in all of them.
    public var roomCount: Int
    /// What each room is opened as; other kinds have other windows, and give way to each other.
    public var kinds: [SessionKind]
    /// Over how many loops the relay spreads accounts and rooms.
    public var loopCount: Int
    /// How long the relay's store takes.
    public var storeDelay: Duration
    /// The sequence of each session's first frame: 1, or shortly before 32 bits end.
    public var firstSequence: UInt64
    /// Whether the relay deflates what goes to those who read that.
    public var relayDeflates: Bool
    /// What happens, in order.
    public var steps: [Step]

    /// Messages that are said.
    public var messageCount: Int {
        steps.reduce(0) { sum, step in
            if case .say(_, _, let count, _) = step.deed { sum + count } else { sum }
        }
    }

    /// Things that go wrong.
    public var faultCount: Int {
        steps.count { step in
            if case .say = step.deed { false } else { true }
        }
    }
}
