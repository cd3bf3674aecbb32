import Foundation
import MartletAuthentication
import MartletLink
import MartletTransport
import MartletWire

@testable import Martlet

/// A file into which attachments are downloaded, one after another.
final class DownloadStorage: Storage {
    struct Ledger {
        /// The file after the last download that has ended; nil if there was none.
        var content: [UInt8]?
        /// The attachments of downloads that have failed since then.
        var doubts: [[UInt8]] = []
    }

    static let name = "download"
    private static let chunkByteCount = 700

    var ledger = Ledger()
    private let path: String

    init(folder: String, clocks: SteppedClocks) {
        path = "\(folder)/picture"
    }

    func use(_ random: inout SeededRandom, _ problems: Problems) async {
        for _ in 0..<Int.random(in: 1...4, using: &random) {
            let content = Self.content(Int.random(in: 0..<4, using: &random))
            // A process can end between two parts.
            let partCount = Int.random(in: 0...12, using: &random)
            do {
                if try download(content, partCount: partCount, problems) {
                    ledger = Ledger(content: content)
                }
            } catch {
                problems.check(error, "a download")
                ledger.doubts.append(content)
            }
        }
    }

    private static func content(_ number: Int) -> [UInt8] {
        (0..<number * 2000 + 300).map { UInt8(truncatingIfNeeded: $0 * (number + 3)) }
    }

    /// Downloads an attachment in parts. Returns whether it has ended.
    private func download(_ content: [UInt8], partCount: Int, _ problems: Problems) throws -> Bool {
        let stream = DigestStream()
        stream.add(content)
        guard let digest = AttachmentDigest(stream.finish()) else { preconditionFailure("a digest has 32 bytes") }
        let work = DownloadWork(digest, byteCount: UInt64(content.count), nil, to: .file(path: path))
        var partCount = partCount
        while true {
            while try !work.prepareStep() {}
            guard case .download(_, let range, _) = work.kind else { return false }
            var position = Int(range.lowerBound)
            while position < content.count {
                guard partCount > 0 else { return false }
                partCount -= 1
                let end = min(content.count, position + Self.chunkByteCount)
                try work.write(Array(content[position..<end]), at: UInt64(position))
                position = end
            }
            switch try work.conclude() {
            case .done: return true
            case .restart: partCount += 100
            }
        }
    }

    func check(after damage: FileDamage, _ problems: Problems) async -> Bool {
        let found = FileManager.default.contents(atPath: path).map { Array($0) }
        let isKnown = found == ledger.content || ledger.doubts.contains { $0 == found }
        // The digest protects the attachment until the download ends.
        if !isKnown, !damage.isDamaged {
            problems.add("the file has \(found?.count ?? 0) bytes, not those of the last download")
        }
        ledger = Ledger(content: found)
        let content = Self.content(ledger.content.map { $0.count % 3 } ?? 2)
        do {
            if try download(content, partCount: 100, problems) { ledger = Ledger(content: content) }
            let file = FileManager.default.contents(atPath: path).map { Array($0) }
            if file != content { problems.add("a download without faults has another content") }
        } catch {
            problems.add("a download without faults has thrown \(error)")
        }
        return true
    }
}
