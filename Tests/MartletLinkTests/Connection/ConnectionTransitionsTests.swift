import Testing

@testable import MartletLink

@Suite struct ConnectionTransitionsTests {
    private typealias Machine = ConnectionMachine
    private static let id = ConnectionID(rawValue: 1)
    private static let backup = ConnectionID(rawValue: 2)
    private static let machines: [Machine] =
        [
            machineThatIs(.disconnected), machineThatIs(.connecting(id)), machineThatIs(.awaitingWelcome),
            machineWithBackup(from: .awaitingWelcome), machineThatIs(.established),
            machineWithBackup(from: .established), machineThatIs(.disconnecting(id)),
        ]
    private static let events: [Machine.Event] =
        [.connect] + newsEvents(of: id) + [.disconnect, .forceDisconnect, .reconnect]
        + [.startBackup, .endBackup, .promoteBackup, .backupConnected(backup), .backupFailed(backup)]

    /// The first row contains the states, the first column the events, a cell the actions and the next state.
    /// O open, H hello, E established, g close gracefully, x close at once, C closed, R start backup, P promoted;
    /// - ignored, ! unexpected, ~ stale.
    private static let expected = """
        event              disc       conn       wait       waitB      estd       estdB      ding
        connect            O>conn     -          -          -          -          -          xCO>conn
        connectSuccess     ~          H>wait     !          !          !          !          !
        connectFailure     ~          C>disc     !          !          !          !          !
        welcome            ~          !          E>estd     xE>estd    !          !          -
        reject             ~          !          xC>disc    xxC>disc   !          !          -
        networkError       ~          xC>disc    xC>disc    xxC>disc   xC>disc    xxC>disc   xC>disc
        disconnectComplete ~          !          !          !          !          !          C>disc
        disconnect         -          xC>disc    g>ding     xg>ding    g>ding     xg>ding    -
        forceDisconnect    -          xC>disc    xC>disc    xxC>disc   xC>disc    xxC>disc   xC>disc
        reconnect          O>conn     xCO>conn   xCO>conn   xxCO>conn  xCO>conn   xxCO>conn  -
        startBackup        !          !          R>waitB    -          R>estdB    -          !
        endBackup          !          !          -          x>wait     -          x>estd     !
        promoteBackup      !          !          !          !          !          xCP>conn   !
        backupConnected    ~          ~          ~          xCPH>wait  ~          xCPH>wait  ~
        backupFailed       ~          ~          ~          >wait      ~          >estd      ~
        deadline           -          xC>disc    xC>disc    xxC>disc   -          -          xC>disc
        """

    // C-6
    @Test func `each event in each state has the answer of the table`() {
        var actual: [[String]] = [["event"] + Self.machines.map(name)]
        for event in Self.events {
            actual.append(
                ["\(event.trigger)"]
                    + Self.machines.map { before in
                        var machine = before
                        return cell(machine.handle(event, now: .zero), machine, from: before)
                    })
        }
        actual.append(
            ["deadline"]
                + Self.machines.map { before in
                    var machine = before
                    return cell(machine.deadlinePassed(now: .distantFuture), machine, from: before)
                })
        let expected = Self.expected.split(separator: "\n").map { $0.split(separator: " ").map(String.init) }
        #expect(actual == expected)
        #expect(actual.count == Machine.Trigger.allCases.count + 1)
        #expect(Self.machines.count == Machine.Phase.allCases.count)
    }

    // C-6
    @Test func `an unexpected event is reported with the state`() {
        var machine = machineThatIs(.established)
        let answer = machine.handle(.welcome(Self.id), now: .zero)
        #expect(answer == .unexpected(.welcome(Self.id), in: .connected(Self.id, .established)))
    }

    @Test func `each end of an attempt has its cause`() {
        func cause(_ state: Machine.State, _ event: Machine.Event) -> Machine.CloseCause? {
            var machine = machineThatIs(state)
            guard case .act(let actions) = machine.handle(event, now: .zero) else { return nil }
            for case .closed(_, let cause) in actions { return cause }
            return nil
        }
        #expect(cause(.connecting(Self.id), .connectFailure(Self.id)) == .connectFailed)
        #expect(cause(.connecting(Self.id), .networkError(Self.id)) == .connectFailed)
        #expect(cause(.connecting(Self.id), .disconnect) == .requested)
        #expect(cause(.connected(Self.id, .awaitingWelcome), .reject(Self.id)) == .rejected)
        #expect(cause(.connected(Self.id, .awaitingWelcome), .networkError(Self.id)) == .lost)
        #expect(cause(.established, .networkError(Self.id)) == .lost)
        #expect(cause(.established, .forceDisconnect) == .requested)
        #expect(cause(.established, .reconnect) == .replaced)
        #expect(cause(.disconnecting(Self.id), .networkError(Self.id)) == .requested)
        #expect(cause(.disconnecting(Self.id), .connect) == .replaced)
    }

    private func name(_ machine: Machine) -> String {
        switch machine.state {
        case .connected(_, .awaitingWelcome) where machine.backup != nil: "waitB"
        case .connected where machine.backup != nil: "estdB"
        case .disconnected: "disc"
        case .connecting: "conn"
        case .connected(_, .awaitingWelcome): "wait"
        case .connected(_, .established): "estd"
        case .disconnecting: "ding"
        }
    }

    private func cell(_ answer: Machine.Answer, _ machine: Machine, from before: Machine) -> String {
        guard case .act(let actions) = answer else {
            #expect(machine == before)
            switch answer {
            case .ignored: return "-"
            case .stale: return "~"
            default: return "!"
            }
        }
        let letters = actions.map { action in
            switch action {
            case .open: "O"
            case .sendHello: "H"
            case .established: "E"
            case .close(_, graceful: true): "g"
            case .close: "x"
            case .closed: "C"
            case .startBackup: "R"
            case .promoted: "P"
            }
        }
        return letters.joined() + ">" + name(machine)
    }
}
