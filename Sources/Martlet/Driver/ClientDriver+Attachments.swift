import MartletLink
import MartletWire

/// The transfers of a driver.
struct TransferTable {
    fileprivate var cores: [TransferID: TransferCore] = [:]

    func id(of core: TransferCore) -> TransferID? { cores.first { $0.value === core }?.key }

    /// Ends all transfers, or those of the application only.
    mutating func failAll(_ error: MartletError, keepsMessages: Bool = false) -> [TransferID] {
        let ids = cores.filter { !keepsMessages || !$0.value.isOfMessage }.keys.sorted { $0.rawValue < $1.rawValue }
        for id in ids { cores.removeValue(forKey: id)?.end(.failure(error)) }
        return ids
    }
}

/// The transfers of attachments. The bytes of files are read and written on the thread for files.
extension ClientDriver {
    func begin(_ core: TransferCore) {
        guard !core.isCancelled else { return core.end(.failure(CancellationError())) }
        guard phase == .running || core.isOfMessage && phase == .flushing else {
            return core.end(.failure(MartletError.stopped))
        }
        guard let entry = rooms[core.room.id] else {
            let error = core.room.end?.error(of: core.room.name)
            return core.end(.failure(error ?? MartletError.roomClosed(room: core.room.name)))
        }
        if let reason = life.status.value.phase.stopReason { return core.end(.failure(MartletError.gaveUp(reason))) }
        do throws(ClientError) {
            let id = try engine.transfer(core.work.kind, in: entry.core.id, now: now)
            transfers.cores[id] = core
            if case .download(_, let range, _) = core.work.kind, let total = core.work.totalByteCount {
                // The number of elements of a range is an `Int` (Specs/hostile.md row 95).
                core.note { $0.byteCount = total - (range.upperBound - range.lowerBound) }
            }
        } catch {
            core.end(.failure(MartletError.tooManyTransfers(limit: ClientConfiguration.maxTransferCount)))
        }
    }

    /// Ends a transfer. The relay discards the stored bytes of an upload.
    func cancel(_ core: TransferCore) {
        guard let id = transfers.id(of: core) else { return }
        engine.cancel(id, now: now)
        if case .upload(let digest, _, _) = core.work.kind {
            _ = try? engine.transfer(.removal(digest), in: core.room.id, now: now)
        }
    }

    func handle(_ event: TransferEvent, of id: TransferID) {
        guard let core = transfers.cores[id] else { return }
        switch event {
        case .began(let position), .progressed(let position): core.note { $0.byteCount = position }
        case .needs(let position, let byteCount):
            onFiles(core, id) {
                try core.work.read(byteCount, at: position)
            } then: { driver, bytes in
                driver.engine.provide(bytes, at: position, for: id, now: driver.now)
            }
        case .received(let position, let bytes):
            onFiles(core, id) {
                try core.work.write(bytes, at: position)
            } then: { driver, _ in
                core.note { $0.byteCount += UInt64(bytes.count) }
                driver.engine.consumed(id, now: driver.now)
            }
        case .finished:
            transfers.cores[id] = nil
            core.files.execute { core.conclude() }
        case .failed(let failure):
            transfers.cores[id] = nil
            core.end(.failure(failure.error))
        }
        guard transfers.cores[id] == nil else { return }
        // The uploads of messages may have waited for the end of a transfer.
        for room in rooms.cores { uploadNext(of: room) }
    }

    /// Performs a job on the thread for files, and handles its result on the loop. An error ends the transfer.
    private func onFiles<Value: Sendable>(
        _ core: TransferCore, _ id: TransferID, _ job: @escaping @Sendable () throws -> Value,
        then: @escaping @Sendable (ClientDriver, Value) -> Void
    ) {
        core.files.execute { [loop] in
            let result = Result { try job() }
            loop.execute { [self] in
                guard phase != .over, transfers.cores[id] === core else { return }
                switch result {
                case .success(let value): then(self, value)
                case .failure(let error):
                    transfers.cores[id] = nil
                    core.end(.failure(error))
                    engine.cancel(id, now: now)
                }
                settle()
            }
        }
    }
}

extension TransferCore {
    /// Verifies and completes the transfer on the thread for files, after its last byte.
    fileprivate func conclude() {
        do {
            switch try work.conclude() {
            case .done(let attachment): end(.success(attachment))
            case .restart:
                note { $0.byteCount = 0 }
                start()
            }
        } catch {
            end(.failure(error))
        }
    }
}

extension TransferFailure {
    /// The error for the application.
    fileprivate var error: any Error {
        switch self {
        case .refused(.digestMismatch): MartletError.attachmentDamaged
        case .refused(let code): MartletError.attachmentRefused(code)
        case .unsupported: MartletError.attachmentsUnsupported
        case .invalidAnswer: MartletError.attachmentDamaged
        case .closed(let code): MartletError.roomClosed(code)
        case .cancelled: CancellationError()
        }
    }
}
