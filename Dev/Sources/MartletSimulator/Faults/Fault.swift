import MartletLink
package import MartletTestKit
import MartletWire

/// A fault of the network, a process, a storage or a policy. Devices and rooms are indices.
package enum Fault: Sendable {
    /// The device's connections break.
    case cut(device: Int)
    /// The path drops or delays all bytes in the given directions.
    case blackHole(device: Int, PathDirection)
    /// A NAT drops the mappings of the device's connections.
    case dropNATMappings(device: Int)
    /// The device moves to another network.
    case switchNetwork(device: Int, delay: Duration)
    /// The device has no network, which its system reports.
    case goOffline(device: Int)
    /// The device's host does not read.
    case stopReading(device: Int)
    /// An attacker replays the hello with which the device resumed its link.
    case replayHello(device: Int)
    /// The device's process crashes and may lose unsynced records.
    case crash(device: Int)
    /// The relay's process crashes and may lose unsynced messages.
    case killRelay
    /// The relay's process drains its connections and ends.
    case drainRelay
    /// The relay's store fails.
    case failStore(StorePart)
    /// The device's outbox stores nothing.
    case failOutbox(device: Int)
    /// The relay's store removes a room's messages except the last.
    case trim(room: Int, keeps: Int)
    /// The relay's process crashes, and its store loses a room's log. The next log starts at offset 1.
    case loseLog(room: Int)
    /// The relay's process crashes, and its attachment store loses the last bytes of incomplete uploads.
    case loseUploads(byteCount: Int)
    /// The relay's store is copied; the next such fault ends the process and replaces the store by the copy.
    case copyOrRestoreStore(drains: Bool)
    /// The operator revokes the device's account and readmits it.
    case revoke(device: Int)
    /// The room policy refuses the device's account, perhaps while the device is offline.
    case refuse(device: Int, room: Int, Refusal, isOffline: Bool)
    /// The operator closes a room.
    case closeRoom(Int)
    /// The process of a relay is stopped, and continues.
    case stopRelay(Int)
    /// A relay does not reach the store that it shares with others, or for nil none does, as at a failover.
    case cutStore(relay: Int?, VirtualStorePath.Cut)
    /// The reports of a shared store do not reach a relay, or for nil any of them.
    case loseReports(relay: Int?)
    /// The bus passes nothing between two relays.
    case cutBus(Int, Int)
    /// The device's connections break, and the next ones reach another relay.
    case move(device: Int)

    /// An operation of a store.
    package enum StorePart: Sendable {
        /// Appending messages.
        case append
        /// Appending the second half of each batch; of a store without halves, appending.
        case appendHalf
        /// Loading rooms.
        case load
        /// Reading messages.
        case read
        /// All calls for attachments.
        case attachments
    }

    /// A refusal of the room policy.
    package enum Refusal: Sendable {
        /// The account may not enter the room.
        case banned
        /// The account may not publish.
        case muted
    }

    /// The kinds of faults that are drawn at random.
    enum Kind: UInt64, CaseIterable {
        case cut, blackHole, dropNATMappings, switchNetwork, goOffline, stopReading, replayHello
        case crash, killRelay, drainRelay
        case failStore, failOutbox, trim, loseLog, copyOrRestoreStore
        case revoke, refuse, closeRoom

        /// The relative frequency.
        fileprivate var weight: Int {
            switch self {
            case .cut, .blackHole: 12
            case .failStore: 15
            case .crash, .refuse, .copyOrRestoreStore: 9
            case .killRelay: 8
            case .switchNetwork: 6
            case .closeRoom: 4
            case .dropNATMappings, .goOffline, .stopReading, .replayHello, .drainRelay, .failOutbox, .trim, .loseLog: 3
            case .revoke: 1
            }
        }
    }
}

/// A fault and its duration.
package struct TimedFault: Sendable {
    /// The fault.
    package var fault: Fault
    /// The kind; nil if the fault was not drawn from kinds.
    var kind: Fault.Kind?
    /// The duration; zero for a fault that is over at once.
    package var lasts: Duration

    init(_ fault: Fault, _ kind: Fault.Kind? = nil, lasts: Duration = .zero) {
        self.fault = fault
        self.kind = kind
        self.lasts = lasts
    }

    /// Draws a fault.
    ///
    /// - Parameter kinds: The kinds that the world has.
    init(_ random: inout SeededRandom, of kinds: [Fault.Kind], deviceCount: Int, roomCount: Int) {
        let (device, room) = (random.below(deviceCount), random.below(roomCount))
        var place = random.below(kinds.reduce(0) { $0 + $1.weight })
        let kind = kinds.first { candidate in
            place -= candidate.weight
            return place < 0
        }!
        self.kind = kind
        lasts = .zero
        switch kind {
        case .cut: fault = .cut(device: device)
        case .blackHole: (fault, lasts) = (.blackHole(device: device, random.direction()), random.pause())
        case .dropNATMappings: fault = .dropNATMappings(device: device)
        case .switchNetwork: fault = .switchNetwork(device: device, delay: .milliseconds(5 + random.below(300)))
        case .goOffline: (fault, lasts) = (.goOffline(device: device), random.pause())
        case .stopReading: (fault, lasts) = (.stopReading(device: device), random.pause())
        case .replayHello: fault = .replayHello(device: device)
        case .crash:
            (fault, lasts) = (.crash(device: device), .milliseconds(random.below(random.below(2) == 0 ? 200 : 5000)))
        case .killRelay: (fault, lasts) = (.killRelay, random.downtime())
        case .drainRelay: (fault, lasts) = (.drainRelay, random.downtime())
        case .failStore:
            let parts: [Fault.StorePart] = [.append, .append, .appendHalf, .load, .read]
            (fault, lasts) = (.failStore(parts[random.below(parts.count)]), random.pause())
        case .failOutbox: (fault, lasts) = (.failOutbox(device: device), .milliseconds(random.below(7500)))
        case .trim: fault = .trim(room: room, keeps: random.below(20))
        case .loseLog: (fault, lasts) = (.loseLog(room: room), random.downtime())
        case .copyOrRestoreStore:
            (fault, lasts) = (.copyOrRestoreStore(drains: random.below(2) == 0), random.downtime())
        case .revoke: (fault, lasts) = (.revoke(device: device), random.pause())
        case .refuse:
            let refusal: Fault.Refusal = random.below(2) == 0 ? .banned : .muted
            let isOffline = random.happens(perMille: 600)
            (fault, lasts) = (.refuse(device: device, room: room, refusal, isOffline: isOffline), random.pause())
        case .closeRoom: fault = .closeRoom(room)
        }
    }
}

/// A world on which faults act.
protocol FaultyWorld {
    /// Begins a fault. One that is over at once has no effect on `end`.
    func begin(_ fault: Fault, for time: Duration) async
    /// Ends a fault after its time.
    func end(_ fault: Fault) async
}

extension PathConditions {
    /// Random conditions of a path.
    init(_ random: inout SeededRandom, isReliable: Bool = true) {
        self.init(
            delay: .milliseconds(5 + random.below(250)), jitter: .milliseconds(random.below(100)),
            bytesPerSecond: random.below(3) == 0 ? 20_000 + random.below(80_000) : nil,
            lostPerMille: isReliable ? 0 : random.below(300), doubledPerMille: isReliable ? 0 : random.below(60),
            overtakenPerMille: isReliable ? 0 : random.below(60))
    }
}

extension SeededRandom {
    mutating func below(_ bound: Int) -> Int { Int(next() % UInt64(bound)) }

    /// A fault of one of several relays, or of their path to the store.
    mutating func relayFault(_ relayCount: Int, _ deviceCount: Int) -> TimedFault {
        let relay = below(4) == 0 ? nil : Optional(below(relayCount))
        return switch below(9) {
        case 0..<2: TimedFault(.stopRelay(below(relayCount)), lasts: .milliseconds(100 + below(30_000)))
        case 2..<4: TimedFault(.cutStore(relay: relay, below(2) == 0 ? .fails : .waits), lasts: pause())
        case 4: TimedFault(.loseReports(relay: relay), lasts: pause())
        case 5:
            TimedFault(.cutBus(below(relayCount), below(relayCount)), lasts: pause())
        default: TimedFault(.move(device: below(deviceCount)))
        }
    }

    /// Usually some seconds, sometimes up to a minute.
    mutating func pause() -> Duration { .milliseconds(500 + below(below(4) == 0 ? 60_000 : 10_000)) }

    /// The time between two processes of a relay.
    fileprivate mutating func downtime() -> Duration { .milliseconds(below(below(4) == 0 ? 15_000 : 5000)) }

    fileprivate mutating func direction() -> PathDirection { [.both, .both, .up, .down][below(4)] }
}
