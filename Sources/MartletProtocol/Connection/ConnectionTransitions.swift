extension ConnectionMachine {
    enum Phase: CaseIterable {
        case disconnected, connecting, awaitingWelcome, racingForWelcome, established, racing, disconnecting

        var awaitsWelcome: Bool { self == .awaitingWelcome || self == .racingForWelcome }
    }

    enum Trigger: CaseIterable {
        case connect, connectSuccess, connectFailure, welcome, reject, networkError, disconnect, disconnectComplete
        case forceDisconnect, reconnect, race, endRace, giveUp, spareConnected, spareFailed, deadline
    }

    enum Step: Equatable {
        case open, sendHello, established
        case close(graceful: Bool)
        case closed(CloseCause)
        case race, abandonSpare, promote
    }

    enum Reaction: Equatable {
        case move(Phase, [Step])
        case ignore
    }

    /// What each state does with each event; what is not in the table is unexpected (C-6).
    ///
    /// A step that closes names the attempt from before an `open` that follows it. A network error closes the carrier
    /// though that may be over already, because it is also what the heartbeat and the framer report about a live one.
    static let transitions: [Phase: [Trigger: Reaction]] = [
        .disconnected: [
            .connect: .move(.connecting, [.open]),
            .reconnect: .move(.connecting, [.open]),
            .disconnect: .ignore,
            .forceDisconnect: .ignore,
        ],
        .connecting: [
            .connect: .ignore,
            .connectSuccess: .move(.awaitingWelcome, [.sendHello]),
            .connectFailure: .move(.disconnected, [.closed(.connectFailed)]),
            .networkError: .move(.disconnected, [.close(graceful: false), .closed(.connectFailed)]),
            .disconnect: .move(.disconnected, [.close(graceful: false), .closed(.requested)]),
            .forceDisconnect: .move(.disconnected, [.close(graceful: false), .closed(.requested)]),
            .reconnect: .move(.connecting, [.close(graceful: false), .closed(.replaced), .open]),
            .deadline: .move(.disconnected, [.close(graceful: false), .closed(.connectTimedOut)]),
        ],
        .awaitingWelcome: [
            .connect: .ignore,
            .welcome: .move(.established, [.established]),
            .reject: .move(.disconnected, [.close(graceful: false), .closed(.rejected)]),
            .networkError: .move(.disconnected, [.close(graceful: false), .closed(.lost)]),
            .disconnect: .move(.disconnecting, [.close(graceful: true)]),
            .forceDisconnect: .move(.disconnected, [.close(graceful: false), .closed(.requested)]),
            .reconnect: .move(.connecting, [.close(graceful: false), .closed(.replaced), .open]),
            .deadline: .move(.disconnected, [.close(graceful: false), .closed(.handshakeTimedOut)]),
            .race: .move(.racingForWelcome, [.race]),
            .endRace: .ignore,
        ],
        .racingForWelcome: [
            .connect: .ignore,
            .welcome: .move(.established, [.abandonSpare, .established]),
            .reject: .move(.disconnected, [.abandonSpare, .close(graceful: false), .closed(.rejected)]),
            .networkError: .move(.disconnected, [.abandonSpare, .close(graceful: false), .closed(.lost)]),
            .disconnect: .move(.disconnecting, [.abandonSpare, .close(graceful: true)]),
            .forceDisconnect: .move(.disconnected, [.abandonSpare, .close(graceful: false), .closed(.requested)]),
            .reconnect: .move(.connecting, [.abandonSpare, .close(graceful: false), .closed(.replaced), .open]),
            .deadline: .move(.disconnected, [.abandonSpare, .close(graceful: false), .closed(.handshakeTimedOut)]),
            .race: .ignore,
            .endRace: .move(.awaitingWelcome, [.abandonSpare]),
            .spareConnected: .move(
                .awaitingWelcome, [.close(graceful: false), .closed(.replaced), .promote, .sendHello]),
            .spareFailed: .move(.awaitingWelcome, []),
        ],
        .established: [
            .connect: .ignore,
            .networkError: .move(.disconnected, [.close(graceful: false), .closed(.lost)]),
            .disconnect: .move(.disconnecting, [.close(graceful: true)]),
            .forceDisconnect: .move(.disconnected, [.close(graceful: false), .closed(.requested)]),
            .reconnect: .move(.connecting, [.close(graceful: false), .closed(.replaced), .open]),
            .race: .move(.racing, [.race]),
            .endRace: .ignore,
        ],
        .racing: [
            .connect: .ignore,
            .networkError: .move(.disconnected, [.abandonSpare, .close(graceful: false), .closed(.lost)]),
            .disconnect: .move(.disconnecting, [.abandonSpare, .close(graceful: true)]),
            .forceDisconnect: .move(.disconnected, [.abandonSpare, .close(graceful: false), .closed(.requested)]),
            .reconnect: .move(.connecting, [.abandonSpare, .close(graceful: false), .closed(.replaced), .open]),
            .race: .ignore,
            .endRace: .move(.established, [.abandonSpare]),
            .giveUp: .move(.connecting, [.close(graceful: false), .closed(.replaced), .promote]),
            .spareConnected: .move(
                .awaitingWelcome, [.close(graceful: false), .closed(.replaced), .promote, .sendHello]),
            .spareFailed: .move(.established, []),
        ],
        .disconnecting: [
            .connect: .move(.connecting, [.close(graceful: false), .closed(.replaced), .open]),
            .welcome: .ignore,
            .reject: .ignore,
            .networkError: .move(.disconnected, [.close(graceful: false), .closed(.requested)]),
            .disconnect: .ignore,
            .disconnectComplete: .move(.disconnected, [.closed(.requested)]),
            .forceDisconnect: .move(.disconnected, [.close(graceful: false), .closed(.requested)]),
            .reconnect: .ignore,
            .deadline: .move(.disconnected, [.close(graceful: false), .closed(.requested)]),
        ],
    ]
}

extension ConnectionMachine.Event {
    var trigger: ConnectionMachine.Trigger {
        switch self {
        case .connect: .connect
        case .connectSuccess: .connectSuccess
        case .connectFailure: .connectFailure
        case .welcome: .welcome
        case .reject: .reject
        case .networkError: .networkError
        case .disconnect: .disconnect
        case .disconnectComplete: .disconnectComplete
        case .forceDisconnect: .forceDisconnect
        case .reconnect: .reconnect
        case .race: .race
        case .endRace: .endRace
        case .giveUp: .giveUp
        case .spareConnected: .spareConnected
        case .spareFailed: .spareFailed
        }
    }

    /// The attempt that the event is news of; wishes name none.
    var connection: ConnectionID? {
        switch self {
        case .connectSuccess(let id), .connectFailure(let id), .welcome(let id), .reject(let id),
            .networkError(let id), .disconnectComplete(let id):
            id
        case .connect, .disconnect, .forceDisconnect, .reconnect, .race, .endRace, .giveUp, .spareConnected,
            .spareFailed:
            nil
        }
    }

    /// The spare that the event is news of.
    var spare: ConnectionID? {
        switch self {
        case .spareConnected(let id), .spareFailed(let id): id
        default: nil
        }
    }
}
