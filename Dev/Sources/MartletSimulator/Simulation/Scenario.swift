package import MartletTestKit
package import MartletWire

/// The actions and faults of a simulation as data, so that a seed can determine them and a shrinker can remove some.
package struct Scenario: Sendable {
    /// An action at a time.
    package struct Step: Sendable {
        /// The time since the start of the scenario.
        package var at: Duration
        /// The action.
        package var action: Action
    }

    /// An action or fault. Devices and rooms are indices. A fault with a duration ends without another action.
    package enum Action: Sendable {
        /// A device publishes `count` messages of `byteCount` bytes.
        case publish(device: Int, room: Int, count: Int, byteCount: Int)
        /// The device's connections break.
        case cut(device: Int)
        /// The path drops all bytes in the given directions.
        case blackHole(device: Int, PathDirection, lasts: Duration)
        /// A NAT drops the mappings of the device's connections.
        case dropNATMappings(device: Int)
        /// The device moves to another network.
        case switchPath(device: Int, delay: Duration)
        /// The device's process crashes and may lose unsynced records.
        case crash(device: Int, down: Duration)
        /// The relay's process crashes and may lose unsynced messages.
        case restartRelay(down: Duration)
        /// The relay's process crashes, and its store loses a room's log. The next log starts at offset 1.
        case loseLog(room: Int, down: Duration)
        /// The relay's store fails.
        case failStore(StorePart, lasts: Duration)
        /// The device's host does not read.
        case stopReading(device: Int, lasts: Duration)
        /// The device's application takes no messages.
        case stopTaking(device: Int, lasts: Duration)
        /// The application suspends a room and resumes it.
        case suspend(device: Int, room: Int, lasts: Duration)
        /// The application enters the background and the foreground again.
        case background(device: Int, lasts: Duration)
        /// The user stops the client and starts it again.
        case stop(device: Int, lasts: Duration)
        /// The user requests an immediate connection attempt.
        case retryNow(device: Int)
        /// The relay's store removes a room's messages except the last.
        case trim(room: Int, keeps: Int)
        /// An attacker replays the hello with which the device resumed its link.
        case replayHello(device: Int)
        /// The user of a device has read all delivered messages of a room.
        case read(device: Int, room: Int)
        /// The user of a device starts and stops typing.
        case type(device: Int, room: Int)
        /// A device sends a request to another device's account, or to the relay for nil.
        case request(device: Int, to: Int?, room: Int, byteCount: Int, timeout: Duration)
        /// A device cancels its latest request.
        case cancelRequest(device: Int)
        /// The application closes a room and opens it again.
        case close(device: Int, room: Int, lasts: Duration)
        /// The operator revokes the device's account and readmits it.
        case revoke(device: Int, lasts: Duration)
        /// The first device's account, which administers all rooms, performs an operation.
        case operate(RoomOperation, room: Int)
        /// A device requests a page of history. The place is a number of messages before the last one that the device
        /// knows.
        case readHistory(device: Int, room: Int, Direction, place: Int)
        /// A device uploads an attachment. Equal numbers and lengths are the same bytes.
        case upload(device: Int, room: Int, byteCount: Int, number: UInt64)
        /// A device downloads one of the attachments that the room has.
        case download(device: Int, room: Int, number: Int)
        /// A device cancels its latest upload.
        case cancelTransfer(device: Int)
        /// The relay's process crashes, and its attachment store loses the last bytes of incomplete uploads.
        case loseUploads(byteCount: Int, down: Duration)
    }

    /// A direction in a log.
    package enum Direction: CaseIterable, Sendable {
        /// Messages before a place.
        case before
        /// Messages after a place.
        case after
        /// Messages from the time of a message.
        case time
    }

    /// An operation of a store.
    package enum StorePart: Sendable {
        /// Appending messages.
        case append
        /// Appending the second half of each batch.
        case appendHalf
        /// Loading rooms.
        case load
        /// Reading messages.
        case read
        /// All calls for attachments.
        case attachments
    }

    /// A device and its path to the relay.
    package struct Device: Sendable {
        /// The account, which devices may share.
        package var account: String
        /// The initial conditions of the path.
        package var conditions: PathConditions
        /// The features: version 1.0, compact frames or deflated frames; some devices lack receipts, presence or
        /// requests.
        package var features: Features
        /// The limits of the device.
        package var limits = Limits()
        /// The number of messages before the last offset at which the device opens an unknown room.
        package var tail: UInt32?
    }

    /// The seed, which determines the scenario and all random decisions of the run.
    package let seed: UInt64
    /// Whether the carrier is reliable and ordered.
    package var isReliable: Bool
    /// The devices.
    package var devices: [Device]
    /// The number of rooms. Every device is a member of all rooms.
    package var roomCount: Int
    /// The kind of each room's sessions, which determines windows and priorities.
    package var kinds: [SessionKind]
    /// The number of the relay's loops.
    package var loopCount: Int
    /// The delay of the relay's store.
    package var storeDelay: Duration
    /// The delay of the relay's room policy; nil if the relay has none.
    package var policyDelay: Duration?
    /// The duration after which credentials expire; nil if they do not.
    package var credentialLifetime: Duration?
    /// Whether the relay keeps roles of rooms.
    package var usesRoles = false
    /// The sequence of each session's first frame: 1, or shortly before 2³².
    package var firstSequence: UInt64
    /// Whether the relay deflates frames for peers that support it.
    package var relayDeflates: Bool
    /// The actions in order of time.
    package var steps: [Step]

    /// The number of published messages.
    package var messageCount: Int {
        steps.reduce(0) { sum, step in
            if case .publish(_, _, let count, _) = step.action { sum + count } else { sum }
        }
    }

    /// The number of other actions.
    package var faultCount: Int {
        steps.count { step in
            if case .publish = step.action { false } else { true }
        }
    }
}
