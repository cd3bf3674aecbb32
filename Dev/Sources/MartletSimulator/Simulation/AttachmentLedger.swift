import Martlet
import MartletLink
import MartletRelay
import MartletWire

/// The record of every transfer of an attachment. It checks that received bytes are the bytes that were sent, and that
/// the relay has stored the bytes that it reports.
struct AttachmentLedger {
    /// A transfer of a device's current process.
    struct Key: Hashable {
        var device: UInt64
        var start: Int
        var transfer: TransferID
    }

    /// A transfer that a device repeats after its crash.
    struct Work: Equatable {
        var room: RoomName
        var digest: AttachmentDigest
        var isUpload: Bool
    }

    private struct Pending {
        var work: Work
        var account: AccountName
        var position: UInt64 = 0
    }

    private var pending: [Key: Pending] = [:]
    /// The bytes of all attachments that were ever begun.
    private(set) var bytes: [AttachmentDigest: [UInt8]] = [:]
    /// The attachments that the relay has completed, by room.
    private(set) var complete: [RoomName: [AttachmentDigest]] = [:]
    /// Completed transfers.
    private(set) var finishedCount = 0

    var openCount: Int { pending.count }

    /// Records an attachment.
    mutating func add(_ content: [UInt8]) -> AttachmentDigest {
        let digest = VirtualAttachments.digest(of: content)
        bytes[digest] = content
        return digest
    }

    mutating func begun(_ key: Key, _ work: Work, of account: AccountName) {
        pending[key] = Pending(work: work, account: account)
    }

    func work(_ key: Key) -> Work? { pending[key]?.work }

    /// The transfers of a process that has crashed, which the next one repeats.
    mutating func removeDevice(_ device: UInt64) -> [Work] {
        let keys = pending.keys.filter { $0.device == device }.sorted {
            $0.transfer.rawValue < $1.transfer.rawValue
        }
        return keys.compactMap { pending.removeValue(forKey: $0)?.work }
    }

    /// The fault of an event, if any.
    mutating func received(
        _ event: TransferEvent, of key: Key, _ store: VirtualAttachments, downloaded: [UInt8]?
    ) -> String? {
        guard var transfer = pending[key] else { return "an event of a transfer that has ended" }
        let work = transfer.work
        let upload = AttachmentKey(room: work.room, account: transfer.account, digest: work.digest)
        switch event {
        case .began(let position), .progressed(let position):
            if case .progressed = event, position <= transfer.position { return "the position \(position) is repeated" }
            guard position <= store.highestPosition(of: upload) else { return "the position \(position) is not stored" }
            transfer.position = position
            pending[key] = transfer
        case .needs, .received: break
        case .finished:
            pending[key] = nil
            finishedCount += 1
            let expected = bytes[work.digest]
            if work.isUpload {
                guard store.bytes(of: work.digest, in: work.room) == expected else { return "the upload is not stored" }
                if complete[work.room]?.contains(work.digest) != true {
                    complete[work.room, default: []].append(work.digest)
                }
            } else {
                // A download of no bytes ends without `received`.
                guard downloaded ?? [] == expected else { return "the download has other bytes" }
            }
        case .failed(let failure):
            pending[key] = nil
            switch failure {
            case .closed, .cancelled, .unsupported, .refused(.forbidden), .refused(.roomForbidden), .refused(.kicked):
                break
            default: return "a transfer failed: \(failure)"
            }
        }
        return nil
    }
}
