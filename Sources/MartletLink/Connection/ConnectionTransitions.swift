extension ConnectionMachine {
    enum Phase: CaseIterable {
        case disconnected, connecting, awaitingWelcome, awaitingWelcomeWithBackup, established, establishedWithBackup
        case disconnecting

        var awaitsWelcome: Bool { self == .awaitingWelcome || self == .awaitingWelcomeWithBackup }
    }

    enum Trigger: CaseIterable {
        case connect, connectSuccess, connectFailure, welcome, reject, networkError, disconnect, disconnectComplete
        case forceDisconnect, reconnect, startBackup, endBackup, promoteBackup, backupConnected, backupFailed, deadline
    }

    enum Step: Equatable {
        case open, sendHello, established
        case close(graceful: Bool)
        case closed(CloseCause)
        case startBackup, closeBackup, promote
    }

    enum Reaction: Equatable {
        case move(Phase, [Step])
        case ignore
    }

    /// The transitions by state and event. An event without an entry is unexpected (C-6).
    ///
    /// A step that closes refers to the attempt before an `open` that follows it. A network error closes the carrier
    /// even if it has already ended, because the heartbeat and the framer report the same event about a live carrier.
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
            .startBackup: .move(.awaitingWelcomeWithBackup, [.startBackup]),
            .endBackup: .ignore,
        ],
        .awaitingWelcomeWithBackup: [
            .connect: .ignore,
            .welcome: .move(.established, [.closeBackup, .established]),
            .reject: .move(.disconnected, [.closeBackup, .close(graceful: false), .closed(.rejected)]),
            .networkError: .move(.disconnected, [.closeBackup, .close(graceful: false), .closed(.lost)]),
            .disconnect: .move(.disconnecting, [.closeBackup, .close(graceful: true)]),
            .forceDisconnect: .move(.disconnected, [.closeBackup, .close(graceful: false), .closed(.requested)]),
            .reconnect: .move(.connecting, [.closeBackup, .close(graceful: false), .closed(.replaced), .open]),
            .deadline: .move(.disconnected, [.closeBackup, .close(graceful: false), .closed(.handshakeTimedOut)]),
            .startBackup: .ignore,
            .endBackup: .move(.awaitingWelcome, [.closeBackup]),
            .backupConnected: .move(
                .awaitingWelcome, [.close(graceful: false), .closed(.replaced), .promote, .sendHello]),
            .backupFailed: .move(.awaitingWelcome, []),
        ],
        .established: [
            .connect: .ignore,
            .networkError: .move(.disconnected, [.close(graceful: false), .closed(.lost)]),
            .disconnect: .move(.disconnecting, [.close(graceful: true)]),
            .forceDisconnect: .move(.disconnected, [.close(graceful: false), .closed(.requested)]),
            .reconnect: .move(.connecting, [.close(graceful: false), .closed(.replaced), .open]),
            .startBackup: .move(.establishedWithBackup, [.startBackup]),
            .endBackup: .ignore,
        ],
        .establishedWithBackup: [
            .connect: .ignore,
            .networkError: .move(.disconnected, [.closeBackup, .close(graceful: false), .closed(.lost)]),
            .disconnect: .move(.disconnecting, [.closeBackup, .close(graceful: true)]),
            .forceDisconnect: .move(.disconnected, [.closeBackup, .close(graceful: false), .closed(.requested)]),
            .reconnect: .move(.connecting, [.closeBackup, .close(graceful: false), .closed(.replaced), .open]),
            .startBackup: .ignore,
            .endBackup: .move(.established, [.closeBackup]),
            .promoteBackup: .move(.connecting, [.close(graceful: false), .closed(.replaced), .promote]),
            .backupConnected: .move(
                .awaitingWelcome, [.close(graceful: false), .closed(.replaced), .promote, .sendHello]),
            .backupFailed: .move(.established, []),
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
        case .startBackup: .startBackup
        case .endBackup: .endBackup
        case .promoteBackup: .promoteBackup
        case .backupConnected: .backupConnected
        case .backupFailed: .backupFailed
        }
    }

    /// The attempt to which the event belongs; nil for requests of the user.
    var connection: ConnectionID? {
        switch self {
        case .connectSuccess(let id), .connectFailure(let id), .welcome(let id), .reject(let id),
            .networkError(let id), .disconnectComplete(let id):
            id
        case .connect, .disconnect, .forceDisconnect, .reconnect, .startBackup, .endBackup, .promoteBackup,
            .backupConnected, .backupFailed:
            nil
        }
    }

    /// The backup attempt to which the event belongs; nil for other events.
    var backup: ConnectionID? {
        switch self {
        case .backupConnected(let id), .backupFailed(let id): id
        default: nil
        }
    }
}
