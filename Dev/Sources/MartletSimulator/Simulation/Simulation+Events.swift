import Martlet
import MartletLink
import MartletRelay
import MartletWire

/// Checks the outputs of clients and the relay against the invariants.
extension Simulation {
    /// The codes that end connections of correct peers, because of the network, the host or the operator.
    static let benignCodes: Set<ErrorCode> = [
        .none, .handshakeTimeout, .authTimeout, .ackTimeout, .slowConsumer, .staleEpoch, .frameTimeout, .idleTimeout,
        .unexpectedEOF, .resumeRejected, .revoked, .replaced,
    ]

    /// The report of a revocation can arrive when the account is admitted again. The user then starts the client again.
    private func startLater(_ device: SimulatedDevice) {
        world.after(.seconds(1)) { [unowned self] in
            guard device.isRunning, world.relay.refusals[device.account] == nil else { return }
            act(device) { $0.start(now: $1) }
        }
    }

    /// Credentials may expire while faults hinder their renewal.
    private func isBenign(_ code: ErrorCode) -> Bool {
        Simulation.benignCodes.contains(code) || code == .unauthenticated && mayCredentialsExpire
    }

    func check(_ output: ClientOutput, on device: SimulatedDevice) {
        let now = world.now
        switch output {
        case .room(let id, let event):
            guard let room = device.name(of: id) else { return }
            check(event, in: room, on: device)
        case .status(let status):
            if status.state == .online, let link = device.client.engine.linkID, let epoch = status.epoch {
                device.link = SimulatedDevice.LinkEpoch(link: link, epoch: Epoch(rawValue: epoch))
            }
            if let code = status.lastCode, !isBenign(code) {
                ledger.fail(.correctPeersAreServed, at: now, "device \(device.id): \(code)")
            }
            if case .stopped(.some) = status.state { startLater(device) }
            trace.note(now, device: device.number, "status", status.epoch.map(UInt64.init) ?? 0, status.reconnects)
        case .replaceDevice:
            ledger.fail(.correctPeersAreServed, at: now, "device \(device.id): its counters count as used before")
        case .stopped: trace.note(now, device: device.number, "stopped")
        case .connect:
            trace.note(now, device: device.number, "connects")
            ledger.connecting(device.id, at: now)
        case .startBackup: trace.note(now, device: device.number, "connects a backup")
        case .close(_, let graceful): trace.note(now, device: device.number, "closes", graceful ? 1 : 0)
        case .response(let number, let outcome):
            trace.note(now, device: device.number, "receives the outcome of", number)
            let key = RequestLedger.Key(device: device.id, start: device.startCount, number: number)
            if !operationEnded(key, outcome), !historyEnded(key, outcome) {
                note(.requestsEndOnce, requests.ended(key, outcome, at: now))
            }
        case .transfer(let id, let event): check(event, of: id, on: device)
        case .transmit, .fetchCredential, .answerChallenge, .account: break
        }
    }

    /// Records a fault, if any.
    private func note(_ invariant: Violation.Invariant, _ fault: String?) {
        if let fault { ledger.fail(invariant, at: world.now, fault) }
    }

    private func check(_ event: RoomEvent, in room: RoomName, on device: SimulatedDevice) {
        let now = world.now
        switch event {
        case .message(let message, _):
            let offset = message.relay?.offset ?? 0
            trace.note(
                now, device: device.number, "delivers", offset, message.relay?.device.rawValue ?? 0, message.counter)
            ledger.delivered(
                message, in: room, after: device.lastDelivered(room), log: log(of: room, on: device), to: device.id,
                at: now)
            device.deliver(offset, in: room)
            deliveryCount += 1
            syncLater(device)
        case .accepted(let run):
            trace.note(now, device: device.number, "receives accepted", run.firstCounter, UInt64(run.count))
            let log = log(of: room, on: device)
            for (index, counter) in run.counters.enumerated() {
                let offset = run.firstOffset == 0 ? 0 : run.firstOffset + UInt64(index)
                let key = Ledger.Key(device: device.id, counter: counter)
                // A message that was refused counts as taken when its device has published later ones.
                if offset > 0 || !mayRefuse(counter, of: device, in: room) {
                    ledger.accepted(key, offset: offset, in: room, log: log, at: now)
                }
                device.accepted(counter)
            }
            syncLater(device)
        case .failed(_, .closed): break
        // The room is closed, or ends the session, while a message has no answer (C-74).
        case .failed(_, .outcomeUnknown) where scenario.usesRoles || device.rooms[room] == nil: break
        case .failed(let counter, .refused(.forbidden, _)) where mayRefuse(counter, of: device, in: room):
            trace.note(now, device: device.number, "receives a refusal", counter)
            ledger.refused(Ledger.Key(device: device.id, counter: counter))
            device.accepted(counter)
            syncLater(device)
        // The message is sent again when the room is open again.
        case .failed(_, .refused(.kicked, _)) where scenario.usesRoles: break
        case .failed(_, .refused(.roomForbidden, _)) where scenario.usesRoles: break
        case .failed(let counter, let failure):
            ledger.fail(.noMessageFails, at: now, "device \(device.id), message \(counter): \(failure)")
        case .gap(let offsets):
            trace.note(now, device: device.number, "receives a gap", offsets.lowerBound, offsets.upperBound)
            ledger.skipped(
                offsets, in: room, first: firstOffset(of: room, on: device),
                limit: device.client.configuration.limits.maxMessageByteCount,
                log: log(of: room, on: device), by: device.id, at: now)
            device.skip(offsets, in: room)
        case .delayed, .closed(nil): break
        case .closed(let code) where scenario.usesRoles: removed(device, from: room, code)
        case .closed(let code):
            ledger.fail(
                .noMessageFails, at: now, "\(room) is closed to device \(device.id): \(String(describing: code))")
        case .logReplaced(let previous, _):
            trace.note(now, device: device.number, "receives a lost log", previous.offset)
            device.recordLogLoss(of: room)
            if previous.log.flatMap({ world.relay.lostLogs[$0] }) == nil {
                ledger.fail(
                    .logLossIsReported, at: now, "device \(device.id) received a loss of \(previous) of \(room)")
            }
        case .opened(let head, _, let accounts, let log, _):
            trace.note(now, device: device.number, "opens", head)
            members.opened(room, by: device.id, members: accounts)
            if !device.recordOpening(of: room, log, lastOffset: head) {
                ledger.fail(.logLossIsReported, at: now, "device \(device.id) opened another log of \(room)")
            }
        case .progress(let progress):
            trace.note(now, device: device.number, "receives a receipt", UInt64(progress.mark.rawValue), progress.upTo)
            note(.receiptsAreCorrect, members.receive(progress, by: device.id, in: room))
        case .typing(let sender, _):
            trace.note(now, device: device.number, "receives typing")
            note(.presenceIsReported, members.receiveTyping(of: sender, by: device.id, in: room))
        case .presence(let account, let presence):
            trace.note(now, device: device.number, "receives presence", UInt64(presence.rawValue))
            members.receive(presence, of: account, by: device.id, in: room)
        case .request(let request):
            trace.note(now, device: device.number, "receives a request", request.id.correlation)
            answer(request, in: room, on: device)
        case .sent, .transient, .requestCancelled: break
        }
    }

    /// The messages of the log that the device has opened.
    private func log(of room: RoomName, on device: SimulatedDevice) -> [LogEntry] {
        device.logs[room].flatMap { world.relay.entries(of: $0, in: room) } ?? []
    }

    /// The first kept offset of the log that the device has opened.
    private func firstOffset(of room: RoomName, on device: SimulatedDevice) -> UInt64 {
        device.logs[room].flatMap { world.relay.firstOffset(of: $0, in: room) } ?? 1
    }

    /// The application usually answers with the request's content. It sometimes refuses or does not answer.
    private func answer(_ request: IncomingRequest, in room: RoomName, on device: SimulatedDevice) {
        guard let content = try? MessageContent(kind: .text, bytes: request.content ?? []), let text = content.text
        else { return ledger.fail(.requestsEndOnce, at: world.now, "a request has no content") }
        note(.requestsEndOnce, requests.received(text))
        let chance = isFinalRound ? 0 : random.next() % 10
        guard chance < 9 else { return }
        let delay = Duration.milliseconds(isFinalRound ? 0 : random.next() % 3000)
        let startCount = device.startCount
        world.after(delay) { [unowned self] in
            guard device.isRunning, device.startCount == startCount, let id = device.rooms[room] else { return }
            world.act(device.client) { engine, now in
                engine.respond(
                    to: request.id, in: id, status: chance < 7 ? .none : .forbidden,
                    content: chance < 7 ? request.content : nil, now: now)
            }
        }
    }

    func check(_ note: RelayNote) {
        switch note {
        case .linked(let key, let link):
            guard let device = device(key) else { return }
            if let ended = device.ended, ended.at == world.now, ended.wasKnown {
                ledger.fail(.linksAreResumed, at: world.now, "device \(device.id) started a link beside its own")
            }
            // The device may not receive the welcome.
            device.link = nil
            device.linkAtRelay = SimulatedDevice.LinkEpoch(link: link, epoch: Epoch(rawValue: 1))
        case .resumed(let key, let link, let epoch):
            device(key)?.linkAtRelay = SimulatedDevice.LinkEpoch(link: link, epoch: epoch)
        case .ended(let key, let link):
            guard let device = device(key) else { return }
            // A hello that was delayed on an earlier connection may have begun the link that ends (C-39).
            device.ended = (world.now, device.link?.link == link && device.link == device.linkAtRelay)
            if device.linkAtRelay?.link == link { device.linkAtRelay = nil }
        case .faulted(let code):
            if !Simulation.benignCodes.contains(code) {
                ledger.fail(.correctPeersAreServed, at: world.now, "the relay reported \(code)")
            }
        case .roomOperation(let record):
            if record.method == .kick, record.status == .none, let account = record.target {
                roles?.kicked(account, from: record.room)
            }
        case .rolesInvalid(let room, let error):
            ledger.fail(.rolesAreEnforced, at: world.now, "the roles of \(room) are not valid: \(error)")
        case .suspended, .refused, .roomRefused, .roomCreated: break
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
            recordTaken(on: device)
            device.sync(in: world)
            checkLog()
        }
    }

    /// The application may send receipts for messages that it is about to take.
    func recordTaken(on device: SimulatedDevice) {
        guard device.isTaking else { return }
        for message in device.client.untaken {
            guard let room = device.name(of: message.room) else { continue }
            members.taken(device.account, room, upTo: message.cursor.offset)
        }
    }
}
