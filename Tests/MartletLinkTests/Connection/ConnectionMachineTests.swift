import MartletLink
import MartletWire
import Testing

@Suite struct ConnectionMachineTests {
    typealias State = ConnectionMachine.State

    private let first = ConnectionID(rawValue: 1)
    private let second = ConnectionID(rawValue: 2)

    @Test func `a connection opens, sends hello, is established and closes gracefully`() {
        var machine = ConnectionMachine()
        #expect(machine.handle(.connect, now: .zero) == .act([.open(first)]))
        #expect(machine.handle(.connectSuccess(first), now: .zero) == .act([.sendHello(first)]))
        #expect(machine.state == .connected(first, .awaitingWelcome))
        #expect(machine.handle(.welcome(first), now: .zero) == .act([.established(first)]))
        #expect(machine.state == .connected(first, .established))
        #expect(machine.handle(.disconnect, now: .zero) == .act([.close(first, graceful: true)]))
        #expect(machine.state == .disconnecting(first))
        #expect(machine.handle(.disconnectComplete(first), now: .zero) == .act([.closed(first, .requested)]))
        #expect(machine.state == .disconnected)
    }

    // C-4
    @Test func `a second connect is ignored`() {
        var machine = ConnectionMachine()
        _ = machine.handle(.connect, now: .zero)
        #expect(machine.handle(.connect, now: .zero) == .ignored)
        _ = machine.handle(.connectSuccess(first), now: .zero)
        #expect(machine.handle(.connect, now: .zero) == .ignored)
        #expect(machine.current == first)
    }

    @Test func `reconnect closes the old connection before it opens the new one`() {
        var machine = machineThatIs(.established)
        let answer = machine.handle(.reconnect, now: .zero)
        #expect(answer == .act([.close(first, graceful: false), .closed(first, .replaced), .open(second)]))
        #expect(machine.state == .connecting(second))
    }

    // C-4
    @Test func `events of an earlier attempt are stale and change nothing`() {
        var machine = machineThatIs(.established)
        _ = machine.handle(.reconnect, now: .zero)
        let before = machine
        for event in newsEvents(of: first) {
            #expect(machine.handle(event, now: .zero) == .stale(first))
        }
        #expect(machine == before)
    }

    @Test func `events of an ended attempt are stale`() {
        var machine = machineThatIs(.established)
        _ = machine.handle(.forceDisconnect, now: .zero)
        for event in newsEvents(of: first) {
            #expect(machine.handle(event, now: .zero) == .stale(first))
        }
        #expect(machine.state == .disconnected)
    }

    // C-4, C-63
    @Test func `a backup replaces the connection, which is closed before the backup sends hello`() {
        var machine = machineThatIs(.established)
        #expect(machine.handle(.startBackup, now: .zero) == .act([.startBackup(second)]))
        #expect(machine.state == .connected(first, .established))
        let answer = machine.handle(.backupConnected(second), now: .zero)
        #expect(
            answer
                == .act([
                    .close(first, graceful: false), .closed(first, .replaced), .promoted(second), .sendHello(second),
                ]))
        #expect(machine.state == .connected(second, .awaitingWelcome))
        #expect(machine.backup == nil)
        #expect(machine.deadline == .zero + .seconds(10))
        #expect(machine.handle(.networkError(first), now: .zero) == .stale(first))
    }

    // C-5, C-63
    @Test func `a backup does not extend the deadline of the handshake`() {
        var machine = machineThatIs(.awaitingWelcome)
        let deadline = machine.deadline
        _ = machine.handle(.startBackup, now: .zero + .seconds(1))
        #expect(machine.deadline == deadline)
        _ = machine.handle(.backupFailed(second), now: .zero + .seconds(2))
        #expect(machine.deadline == deadline)
        _ = machine.handle(.startBackup, now: .zero + .seconds(3))
        let answer = machine.deadlinePassed(now: deadline ?? .zero)
        let third = ConnectionID(rawValue: 3)
        #expect(
            answer
                == .act([
                    .close(third, graceful: false), .close(first, graceful: false), .closed(first, .handshakeTimedOut),
                ]))
    }

    // C-4
    @Test func `the ID of an unused backup is not assigned again`() {
        var machine = machineWithBackup()
        #expect(machine.handle(.endBackup, now: .zero) == .act([.close(second, graceful: false)]))
        #expect(machine.handle(.backupFailed(second), now: .zero) == .stale(second))
        #expect(machine.handle(.startBackup, now: .zero) == .act([.startBackup(ConnectionID(rawValue: 3))]))
    }

    // C-5, C-60
    @Test(arguments: [
        (State.connecting(ConnectionID(rawValue: 1)), 15, ConnectionMachine.CloseCause.connectTimedOut),
        (.connected(ConnectionID(rawValue: 1), .awaitingWelcome), 10, .handshakeTimedOut),
        (.disconnecting(ConnectionID(rawValue: 1)), 5, .requested),
    ])
    func `connecting, awaiting welcome and disconnecting end at their deadlines`(
        state: State, seconds: Int, cause: ConnectionMachine.CloseCause
    ) {
        let start = Instant(nanoseconds: 1_000_000_000)
        var machine = machineThatIs(state, since: start)
        #expect(machine.deadline == start + .seconds(seconds))
        #expect(machine.deadlinePassed(now: start + .seconds(seconds) + .nanoseconds(-1)) == .ignored)
        #expect(machine.state == state)
        let answer = machine.deadlinePassed(now: start + .seconds(seconds))
        #expect(answer == .act([.close(first, graceful: false), .closed(first, cause)]))
        #expect(machine.state == .disconnected)
        #expect(machine.deadline == nil)
    }

    @Test func `a repeated connect does not move the deadline`() {
        var machine = ConnectionMachine()
        _ = machine.handle(.connect, now: .zero)
        _ = machine.handle(.connect, now: .zero + .seconds(14))
        #expect(machine.deadline == .zero + .seconds(15))
    }

    @Test func `each state has its configured deadline`() {
        let deadlines = ConnectionMachine.Deadlines(
            connecting: .seconds(1), handshake: .seconds(2), disconnecting: .seconds(3))
        var machine = ConnectionMachine(deadlines: deadlines)
        _ = machine.handle(.connect, now: .zero)
        #expect(machine.deadline == .zero + .seconds(1))
        _ = machine.handle(.connectSuccess(first), now: .zero)
        #expect(machine.deadline == .zero + .seconds(2))
        _ = machine.handle(.welcome(first), now: .zero)
        #expect(machine.deadline == nil)
        _ = machine.handle(.disconnect, now: .zero)
        #expect(machine.deadline == .zero + .seconds(3))
    }

    @Test func `connection IDs continue at 1 after the highest one`() {
        #expect(ConnectionID.none.next == first)
        #expect(ConnectionID(rawValue: .max).next == first)
    }

    @Test(arguments: [1, 2, 3, 4] as [UInt64])
    func `for random events each attempt is opened and closed once, and only one is open`(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var machine = ConnectionMachine()
        var now = Instant.zero
        var open: ConnectionID?
        var backup: ConnectionID?
        var latest = ConnectionID.none
        for _ in 0..<10_000 {
            now = now + .milliseconds(Int.random(in: 0..<2000, using: &random))
            let before = machine
            let answer =
                Bool.random(using: &random)
                ? machine.handle(anyEvent(near: machine.current, machine.backup, using: &random), now: now)
                : machine.deadlinePassed(now: now)
            guard case .act(let actions) = answer else {
                #expect(machine == before)
                continue
            }
            for action in actions {
                switch action {
                case .open(let id):
                    #expect(open == nil)
                    #expect(id == latest.next)
                    (open, latest) = (id, id)
                case .startBackup(let id):
                    #expect(open != nil)
                    #expect(backup == nil)
                    #expect(id == latest.next)
                    (backup, latest) = (id, id)
                case .promoted(let id):
                    #expect(open == nil)
                    #expect(backup == id)
                    (open, backup) = (id, nil)
                case .closed(let id, _):
                    #expect(open == id)
                    open = nil
                case .close(let id, _) where id == backup: backup = nil
                case .sendHello(let id), .established(let id), .close(let id, _):
                    #expect(open == id)
                }
            }
            #expect((open == nil) == (machine.state == .disconnected))
            backup = machine.backup
            #expect(backup == nil || backup == latest)
        }
    }

    private func anyEvent(
        near id: ConnectionID, _ backup: ConnectionID?, using random: inout SeededRandom
    ) -> ConnectionMachine.Event {
        let named = Bool.random(using: &random) ? id : ConnectionID(rawValue: id.rawValue &- 1)
        let wishes: [ConnectionMachine.Event] = [
            .connect, .disconnect, .forceDisconnect, .reconnect, .startBackup, .endBackup, .promoteBackup,
        ]
        let news =
            newsEvents(of: named) + [
                .backupConnected(backup ?? named), .backupFailed(backup ?? named),
            ]
        return (wishes + news).randomElement(using: &random)!
    }
}

func newsEvents(of id: ConnectionID) -> [ConnectionMachine.Event] {
    [
        .connectSuccess(id), .connectFailure(id), .welcome(id), .reject(id), .networkError(id), .disconnectComplete(id),
    ]
}

/// Returns a machine whose first attempt entered `state` at `since`.
func machineThatIs(_ state: ConnectionMachine.State, since now: Instant = .zero) -> ConnectionMachine {
    let id = ConnectionID(rawValue: 1)
    var machine = ConnectionMachine()
    let events: [ConnectionMachine.Event] =
        switch state {
        case .disconnected: [.connect, .connectFailure(id)]
        case .connecting: [.connect]
        case .connected(_, .awaitingWelcome): [.connect, .connectSuccess(id)]
        case .connected(_, .established): [.connect, .connectSuccess(id), .welcome(id)]
        case .disconnecting: [.connect, .connectSuccess(id), .welcome(id), .disconnect]
        }
    for event in events { _ = machine.handle(event, now: now) }
    return machine
}

/// Returns a machine with connection 1 and backup 2.
func machineWithBackup(from state: ConnectionMachine.State = .established) -> ConnectionMachine {
    var machine = machineThatIs(state)
    _ = machine.handle(.startBackup, now: .zero)
    return machine
}

extension ConnectionMachine.State {
    static let awaitingWelcome = Self.connected(ConnectionID(rawValue: 1), .awaitingWelcome)
    static let established = Self.connected(ConnectionID(rawValue: 1), .established)
}
