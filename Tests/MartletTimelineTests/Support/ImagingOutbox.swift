import Foundation
import Martlet
import MartletSQLite
import MartletTransport

/// The files at several instants.
final class Images: Sendable {
    private let files: FileImage
    private let images = Guarded<[FileImage]>([])

    init(_ files: FileImage) {
        self.files = files
    }

    var all: [FileImage] { images.withLock { $0 } }

    func take() {
        images.withLock { images in
            if let image = try? files.copy() { images.append(image) }
        }
    }
}

/// An outbox that takes an image of the files after each transaction.
struct ImagingOutbox: Outbox {
    private let outbox: SQLiteOutbox
    private let images: Images

    init(_ outbox: SQLiteOutbox, _ images: Images) {
        self.outbox = outbox
        self.images = images
    }

    func open() async throws -> OutboxState { try await outbox.open() }

    func commit(_ transaction: OutboxTransaction) async throws {
        try await outbox.commit(transaction)
        images.take()
    }

    func deadLetters(in room: RoomName) async throws -> [DeadLetter] { try await outbox.deadLetters(in: room) }
}

extension FileImage {
    /// Replaces the timeline by that of another image, whose files are closed.
    func replaceTimeline(by other: FileImage) async throws {
        try replace(timeline, by: other.timeline)
    }

    func replaceOutbox(by other: FileImage) async throws {
        try replace(outbox, by: other.outbox)
    }

    private func replace(_ target: String, by source: String) throws {
        for suffix in ["", "-wal"] {
            try? FileManager.default.removeItem(atPath: target + suffix)
            guard FileManager.default.fileExists(atPath: source + suffix) else { continue }
            try FileManager.default.copyItem(atPath: source + suffix, toPath: target + suffix)
        }
    }
}
