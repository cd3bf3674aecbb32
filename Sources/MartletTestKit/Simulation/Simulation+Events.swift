import MartletProtocol
import MartletWire

/// What clients and the relay let be seen, held against what was promised.
extension Simulation {
    /// What ends a connection without anybody's fault but the weather's, the host's or the operator's.
    static let honestCodes: Set<ErrorCode> = [
        .none, .handshakeTimeout, .authTimeout, .ackTimeout, .slowConsumer, .staleEpoch, .frameTimeout, .idleTimeout,
        .unexpectedEOF, .resumeRejected, .revoked, .replaced,
    ]

    func see(_ output: ClientOutput, on device: SimulatedDevice) {
        let now = world.now
        switch output {
        case .room(let id, let event):
            guard let room = device.name(of: id) else { return }
            see(event, in: room, on: device)
        case .status(let status):
            if status.state == .online { device.epoch = status.epoch }
            if let code = status.lastCode, !Simulation.honestCodes.contains(code) {
                ledger.fail(.honestPeersAreServed, at: now, "device \(device.id): \(code)")
            }
            trace.note(now, device: device.number, "status", status.epoch.map(UInt64.init) ?? 0, status.reconnects)
        case .stopped: trace.note(now, device: device.number, "stopped")
        case .connect:
            trace.note(now, device: device.number, "connects")
            ledger.dialled(device.id, at: now)
        case .startBackup: trace.note(now, device: device.number, "dials a spare")
        case .close(_, let graceful): trace.note(now, device: device.number, "hangs up", graceful ? 1 : 0)
        case .response(let number, let outcome):
            trace.note(now, device: device.number, "has the outcome of", number)
            let key = RequestLedger.Key(device: device.id, life: device.life, number: number)
            note(.requestsEndOnce, requests.ended(key, outcome, at: now))
        case .transmit, .fetchCredential: break
        }
    }

    /// Something is wrong, or nil.
    private func note(_ promise: Violation.Promise, _ fault: String?) {
        if let fault { ledger.fail(promise, at: world.now, fault) }
    }

    private func see(_ event: RoomEvent, in room: RoomName, on device: SimulatedDevice) {
        let now = world.now
        switch event {
        case .message(let message, _):
            let offset = message.relay?.offset ?? 0
            trace.note(
                now, device: device.number, "is shown", offset, message.relay?.device.rawValue ?? 0, message.counter)
            ledger.shown(
                message, in: room, after: device.lastShown(room), log: log(of: room, on: device), to: device.id, at: now
            )
            device.show(offset, in: room)
            deliveryCount += 1
            syncLater(device)
        case .accepted(let run):
            trace.note(now, device: device.number, "is told accepted", run.firstCounter, UInt64(run.count))
            let log = log(of: room, on: device)
            for (index, counter) in run.counters.enumerated() {
                let offset = run.firstOffset == 0 ? 0 : run.firstOffset + UInt64(index)
                let key = Ledger.Key(device: device.id, counter: counter)
                ledger.accepted(key, offset: offset, in: room, log: log, at: now)
                device.accepted(counter)
            }
            syncLater(device)
        case .failed(_, .closed): break
        case .failed(let counter, let failure):
            ledger.fail(.nothingIsGivenUp, at: now, "device \(device.id), message \(counter): \(failure)")
        case .gap(let offsets):
            trace.note(now, device: device.number, "does without", offsets.lowerBound, offsets.upperBound)
            ledger.missed(
                offsets, in: room, first: world.relay.first(room),
                limit: device.client.configuration.limits.maxMessageByteCount,
                log: log(of: room, on: device), by: device.id, at: now)
            device.miss(offsets, in: room)
        case .closed(nil): break
        case .closed(let code):
            ledger.fail(
                .nothingIsGivenUp, at: now, "\(room) is closed to device \(device.id): \(String(describing: code))")
        case .logReplaced(let previous, _):
            trace.note(now, device: device.number, "loses a log", previous.offset)
            device.hear(thatLogIsReplacedOf: room)
            if previous.log.flatMap({ world.relay.lostLogs[$0] }) == nil {
                ledger.fail(.lossIsTold, at: now, "device \(device.id) is told so of \(previous) of \(room)")
            }
        case .opened(let head, _, _, let log):
            trace.note(now, device: device.number, "is let in", head)
            if !device.enter(room, log, head: head) {
                ledger.fail(.lossIsTold, at: now, "device \(device.id) is let into another log of \(room)")
            }
        case .progress(let progress):
            trace.note(now, device: device.number, "is told", UInt64(progress.mark.rawValue), progress.upTo)
            note(.receiptsAreTrue, attendance.told(device.id, progress, in: room))
        case .typing(let sender, _):
            trace.note(now, device: device.number, "sees typing")
            note(.presenceIsTold, attendance.told(device.id, typing: sender, in: room))
        case .presence(let account, let presence):
            trace.note(now, device: device.number, "sees presence", UInt64(presence.rawValue))
            attendance.told(device.id, account, is: presence, in: room)
        case .request(let request):
            trace.note(now, device: device.number, "is asked", request.correlation)
            answer(request, in: room, on: device)
        case .sent, .transient, .requestCancelled: break
        }
    }

    /// What the log has that a device has been let into.
    private func log(of room: RoomName, on device: SimulatedDevice) -> [LogEntry] {
        device.logs[room].flatMap { world.relay.entries(of: $0, in: room) } ?? []
    }

    /// Mostly the application answers with what it was asked; it may refuse, and it may never come to it.
    private func answer(_ request: IncomingRequest, in room: RoomName, on device: SimulatedDevice) {
        guard let content = try? MessageContent(kind: .text, bytes: request.content ?? []), let text = content.text
        else { return ledger.fail(.requestsEndOnce, at: world.now, "a request without its content") }
        note(.requestsEndOnce, requests.shown(text))
        let chance = isFinalRound ? 0 : random.next() % 10
        guard chance < 9 else { return }
        let delay = Duration.milliseconds(isFinalRound ? 0 : random.next() % 3000)
        let life = device.life
        world.after(delay) { [unowned self] in
            guard device.isRunning, device.life == life, let id = device.rooms[room] else { return }
            world.act(device.client) { engine, now in
                engine.respond(
                    in: id, correlation: request.correlation, status: chance < 7 ? .none : .forbidden,
                    content: chance < 7 ? request.content : nil, now: now)
            }
        }
    }

    func see(_ note: RelayNote) {
        switch note {
        case .linked(let key, _):
            guard let device = device(key) else { return }
            if let ended = device.ended, ended.at == world.now, ended.wasKnown {
                ledger.fail(.linksAreResumed, at: world.now, "device \(device.id) begins anew beside its link")
            }
            // Whether the device hears of it remains to be seen.
            (device.epoch, device.epochAtRelay) = (nil, 1)
        case .resumed(let key, _, let epoch): device(key)?.epochAtRelay = epoch.rawValue
        case .ended(let key, _):
            guard let device = device(key) else { return }
            device.ended = (world.now, device.epoch != nil && device.epoch == device.epochAtRelay)
            device.epochAtRelay = nil
        case .faulted(let code):
            if !Simulation.honestCodes.contains(code) {
                ledger.fail(.honestPeersAreServed, at: world.now, "the relay finds a fault: \(code)")
            }
        case .suspended, .refused: break
        }
    }

    private func device(_ key: DeviceKey) -> SimulatedDevice? {
        devices.first { $0.id == key.device.rawValue }
    }

    func syncLater(_ device: SimulatedDevice) {
        guard !device.isSyncing else { return }
        device.isSyncing = true
        world.after(Simulation.syncDelay) { [unowned self] in
            guard device.isSyncing else { return }
            device.isSyncing = false
            noteTaken(on: device)
            device.sync(in: world)
            ledger.look(at: world.relay.log, at: world.now)
        }
    }

    /// What the application is about to take, it may tell others that it has.
    func noteTaken(on device: SimulatedDevice) {
        guard device.isTaking else { return }
        for message in device.client.untaken {
            guard let room = device.name(of: message.room) else { continue }
            attendance.taken(device.account, room, upTo: message.cursor.offset)
        }
    }
}
