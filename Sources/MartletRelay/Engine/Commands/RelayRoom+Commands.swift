import MartletLink
import MartletWire

/// Commands of the relay's application.
///
/// With roles, `remove` and `close` are operations of an administrator and keep their order with others. A message, and
/// all commands without roles, are performed at the end of the turn.
extension RelayRoom {
    /// A command, which is performed when the room is loaded.
    mutating func receive(_ call: RoomCommandCall, into effects: inout Deque<RoomEffect>) {
        guard !commands.isFull else { return effects.append(.commandEnded(call.id, .failure(.busy))) }
        commands.append(call)
    }

    /// Performs the commands that wait.
    ///
    /// - Parameters:
    ///   - now: the relay's wall clock in milliseconds since 1970.
    ///   - batch: an empty batch.
    mutating func performCommands(at now: UInt64, batch: inout RoomBatch, into effects: inout Deque<RoomEffect>) {
        guard case .ready = state else { return }
        for call in commands.takeWaiting() {
            guard !isUncreated else {
                end(call, .failure(.roomNotCreated), into: &effects)
                continue
            }
            switch call.command {
            case .publish(let content):
                do throws(RoomRefusal) {
                    commands.publish(call.id, at: try publish(content, by: call.actor, at: now, batch: &batch))
                } catch {
                    concluded(call, error, into: &effects)
                }
            case .erase(let messages):
                do throws(RoomRefusal) {
                    var last = log.lastOffset
                    for message in messages {
                        guard let deletion = try? MessageBody.delete(message).content else { continue }
                        last = try publish(deletion, by: call.actor, at: now, batch: &batch)
                    }
                    commands.publish(call.id, at: last)
                } catch {
                    concluded(call, error, into: &effects)
                }
            case .retain(let bounds):
                commands.save(call.id)
                effects.append(.store(.saveRetention(name, bounds)))
            case .describe: end(call, .success(.described(description)), into: &effects)
            case .remove where !usesRoles && isUnused: end(call, .failure(.roomNotCreated), into: &effects)
            case .operate where !usesRoles: end(call, .failure(.noRoles), into: &effects)
            case .remove, .close, .operate:
                if usesRoles {
                    decideByRoles(call, into: &effects)
                } else {
                    concluded(call, nil, into: &effects)
                }
            }
        }
        releaseIdleCommands()
    }

    /// A command was decided: it is performed, or refused.
    mutating func concluded(
        _ call: RoomCommandCall, _ refusal: RoomRefusal?, into effects: inout Deque<RoomEffect>
    ) {
        note(call, refusal?.status ?? .none, into: &effects)
        if let refusal { return end(call, .failure(RoomCommandError(refusal)), into: &effects) }
        switch call.command {
        case .remove(let account):
            for slot in members.slots(of: account) { expel(slot, .kicked, into: &effects) }
            expelAttachments(of: account, .kicked, into: &effects)
            if allocatedMemberships.isAllocated {
                memberships.noteRemoval(of: account)
                // The command ends with the change of the record.
                guard !memberships.isRemoving(account) else { return commands.remove(account, call.id) }
            }
        case .close where !usesRoles:
            for slot in members.slots where members.isLive(slot) { expel(slot, .kicked, into: &effects) }
            resetAttachments(.kicked, into: &effects)
        case .operate(let operation): applyToMemberships(operation, by: call.actor.account)
        case .close, .publish, .erase, .retain, .describe: break
        }
        end(call, .success(.done), into: &effects)
    }

    /// The messages up to an offset are durable.
    mutating func commandsStored(into effects: inout Deque<RoomEffect>) {
        guard hasCommands else { return }
        for (call, offset) in commands.takePublished(upTo: log.lastOffset) {
            note(call, .none, into: &effects)
            let cursor = RoomCursor(log: log.id, offset: offset)
            effects.append(.commandEnded(call.id, .success(.published(cursor))))
        }
        releaseIdleCommands()
    }

    /// The store did not take the messages.
    mutating func commandsDiscarded(into effects: inout Deque<RoomEffect>) {
        guard hasCommands else { return }
        for (call, _) in commands.takePublished(upTo: .max) { concluded(call, .storeUnavailable, into: &effects) }
        releaseIdleCommands()
    }

    /// The store has answered a save of membership records.
    mutating func recordsRemoved(into effects: inout Deque<RoomEffect>) {
        guard hasCommands else { return }
        let pending = commands.removedAccounts.filter { memberships.isRemoving($0) }
        for (call, account) in commands.takeRemoved(except: pending) {
            let isRemoved = memberships[account] == nil
            effects.append(.commandEnded(call.id, isRemoved ? .success(.done) : .failure(.storeUnavailable)))
        }
        releaseIdleCommands()
    }

    /// The store has answered the first save of the room's own bounds.
    mutating func commandSaved(isDone: Bool, into effects: inout Deque<RoomEffect>) {
        guard hasCommands, let call = commands.takeSaved() else { return }
        effects.append(.commandEnded(call.id, isDone ? .success(.done) : .failure(.storeUnavailable)))
        releaseIdleCommands()
    }

    /// Whether the room has neither messages nor members nor membership records.
    private var isUnused: Bool {
        log.lastOffset == 0 && members.count == 0 && !isBusy && !allocatedMemberships.isAllocated && !usesAttachments
    }

    /// The room leaves memory before its commands have a result.
    mutating func failCommands(into effects: inout Deque<RoomEffect>) {
        guard hasCommands else { return }
        for call in commands.takeAll() { effects.append(.commandEnded(call.id, .failure(.storeUnavailable))) }
        releaseIdleCommands()
    }

    private func note(_ call: RoomCommandCall, _ status: ErrorCode, into effects: inout Deque<RoomEffect>) {
        guard let operation = call.operation else { return }
        let record = RoomOperationRecord(operation, by: call.actor, in: name, status)
        effects.append(.note(.roomOperation(record), of: nil))
    }

    private mutating func end(
        _ call: RoomCommandCall, _ result: RoomCommandResult, into effects: inout Deque<RoomEffect>
    ) {
        commands.finish(call.id)
        effects.append(.commandEnded(call.id, result))
    }
}

extension RelayRoom {
    /// The state of the room for the administration of the relay.
    var overview: RoomOverview {
        let isLoaded = if case .ready = state { true } else { false }
        return RoomOverview(
            room: name, memberCount: UInt32(members.count), log: isLoaded ? log.id : nil, head: log.lastOffset,
            first: log.firstOffset, memoryByteCount: UInt64(chargedByteCount))
    }

    /// The state with the roles.
    private var description: RoomOverview {
        let roles = usesRoles ? moderation.roles : nil
        return RoomOverview(
            room: name, memberCount: UInt32(members.count), log: log.id, head: log.lastOffset, first: log.firstOffset,
            memoryByteCount: UInt64(chargedByteCount), roleCount: roles.map { UInt32($0.count) },
            access: roles?.access, maxAge: retention.maxAge, maxCount: retention.maxCount,
            maxByteCount: retention.maxByteCount)
    }
}

extension RoomCommandCall {
    /// The operation of an administrator with the same effect; nil if there is none.
    var operation: RoomOperation? {
        switch command {
        case .publish(let content): .announce(content)
        case .remove(let account): .kick(account)
        case .close: .setAccess(.closed)
        case .operate(let operation): operation
        case .erase, .retain, .describe: nil
        }
    }
}
