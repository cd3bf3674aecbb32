import Martlet
import MartletLink
import MartletWire

/// Uploads and downloads of attachments, and the checks of their events.
extension Simulation {
    /// A device uploads an attachment, whose bytes the number determines.
    func upload(_ device: SimulatedDevice, _ room: RoomName, _ byteCount: Int, number: UInt64) {
        guard device.isRunning else { return }
        var random = SeededRandom(seed: number)
        let content = (0..<byteCount).map { _ in UInt8(truncatingIfNeeded: random.next()) }
        let digest = attachments.add(content)
        begin(AttachmentLedger.Work(room: room, digest: digest, isUpload: true), on: device)
    }

    /// A device downloads one of the room's attachments.
    func download(_ device: SimulatedDevice, _ room: RoomName, number: Int) {
        guard device.isRunning, let complete = attachments.complete[room], !complete.isEmpty else { return }
        let digest = complete[number % complete.count]
        begin(AttachmentLedger.Work(room: room, digest: digest, isUpload: false), on: device)
    }

    func begin(_ work: AttachmentLedger.Work, on device: SimulatedDevice) {
        guard let id = device.rooms[work.room], let bytes = attachments.bytes[work.digest] else { return }
        let byteCount = UInt64(bytes.count)
        let kind: TransferKind =
            work.isUpload
            ? .upload(work.digest, byteCount: byteCount, mediaType: nil)
            : .download(work.digest, 0..<byteCount, byteCount: byteCount)
        world.act(device.client) { engine, now in
            guard let transfer = try? engine.transfer(kind, in: id, now: now) else { return }
            device.client.uploads[transfer] = work.isUpload ? bytes : nil
            attachments.begun(key(transfer, of: device), work, of: device.account)
        }
    }

    private func key(_ transfer: TransferID, of device: SimulatedDevice) -> AttachmentLedger.Key {
        AttachmentLedger.Key(device: device.id, start: device.startCount, transfer: transfer)
    }

    /// A device cancels its latest transfer.
    func cancelTransfer(of device: SimulatedDevice) {
        guard let transfer = device.client.uploads.keys.max(by: { $0.rawValue < $1.rawValue }) else { return }
        act(device) { $0.cancel(transfer, now: $1) }
    }

    func check(_ event: TransferEvent, of transfer: TransferID, on device: SimulatedDevice) {
        let key = key(transfer, of: device)
        trace.note(world.now, device: device.number, "transfers", transfer.rawValue)
        let fault = attachments.received(
            event, of: key, world.relay.attachments, downloaded: device.client.downloads[transfer])
        if let fault { ledger.fail(.attachmentsAreWhole, at: world.now, "device \(device.id): \(fault)") }
        switch event {
        case .finished, .failed: device.progressed()
        case .began, .progressed, .received: device.progressed()
        case .needs: break
        }
    }
}
