extension ConnectionMachine {
    enum Phase: CaseIterable {
        case disconnected, connecting, awaitingWelcome, established, disconnecting
    }

    enum Trigger: CaseIterable {
        case connect, connectSuccess, connectFailure, welcome, reject, networkError, disconnect, disconnectComplete
        case forceDisconnect, reconnect, deadline
    }

    enum Step: Equatable {
        case open, sendHello, established
        case close(graceful: Bool)
        case closed(CloseCause)
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
        ],
        .established: [
            .connect: .ignore,
            .networkError: .move(.disconnected, [.close(graceful: false), .closed(.lost)]),
            .disconnect: .move(.disconnecting, [.close(graceful: true)]),
            .forceDisconnect: .move(.disconnected, [.close(graceful: false), .closed(.requested)]),
            .reconnect: .move(.connecting, [.close(graceful: false), .closed(.replaced), .open]),
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
        }
    }

    /// The attempt that the event is news of; wishes name none.
    var connection: ConnectionID? {
        switch self {
        case .connectSuccess(let id), .connectFailure(let id), .welcome(let id), .reject(let id),
            .networkError(let id), .disconnectComplete(let id):
            id
        case .connect, .disconnect, .forceDisconnect, .reconnect: nil
        }
    }
}
