import Foundation

/// Arithmetic on the numbers of peers and files does not trap (R-158, Specs/hostile.md row 95).
///
/// The rule knows names and no types. It reports `+`, `-` and `*` beside a name of a 64-bit number, the conversion of
/// such a number to a type that has other bounds, and the elements of a range of such numbers, of which `Int` cannot
/// represent the count. Spellings with `&`, `Reporting`, `Saturating`, `clamping:` and `exactly:`, and
/// `a - min(a, b)` and `range.upperBound - range.lowerBound`, are no findings.
enum NumberRule {
    /// The 64-bit numbers of the registry that are identifiers or values of applications, with which nothing counts,
    /// and those whose names have other meanings in the code.
    private static let skipped: Set<String> = [
        "features", "device", "link", "nonce", "log", "correlation", "integer", "unsigned", "maxCount", "maxByteCount",
        "head", "first", "before", "total", "credit", "next", "since", "queuedByteCount", "messageCount",
        "memoryByteCount",
    ]
    /// The names in the code for numbers of the registry, of rows, and of the bounds of ranges.
    private static let added: Set<String> = [
        "firstOffset", "lastOffset", "firstCounter", "lastCounter", "creditLimit", "watermark", "usedAt", "expiresAt",
        "lowerBound", "upperBound", "batchStart",
    ]
    /// Names that have other meanings elsewhere, by the parts of paths in which they are numbers of peers.
    private static let local: [String: [String]] = [
        "offset": ["MartletLink/", "Relay/", "SQLite/", "Database/", "Timeline/", "Martlet/", "Observation/"],
        "cursor": ["MartletLink/", "Relay/", "SQLite/", "Database/", "Timeline/", "Martlet/"],
        "received": ["MartletLink/", "/Engine/"],
        "position": ["/Attachments/"],
        "byteCount": ["MartletRelay/Attachments/", "Martlet/Attachments/", "Wire/Attachments/"],
    ]
    private static let ranges: Set<String> = ["offsets", "counters"]
    private static let elements = [
        ".count ", ".count)", ".suffix(", ".dropFirst(", ".dropLast(", ".reversed(", ".randomElement(",
    ]
    private static let operators = [" + ", " - ", " * ", " += ", " -= ", " *= "]
    private static let conversions = ["Int(", "Int8(", "Int16(", "Int32(", "Int64("]
    /// The modules of development tools, whose numbers come from their own user.
    private static let exempt: Set<String> = [
        "MartletDifferential", "MartletLab", "MartletSimulator", "MartletTestKit", "MartletToolSupport",
    ]

    /// The uses that cannot trap, by the end of the file's path: their number, and the reason.
    static let permitted: [String: (count: Int, reason: String)] = [
        "Martlet/Attachments/DownloadWork.swift": (1, "no more bytes are written than the range has"),
        "Martlet/Attachments/LocalWork.swift": (1, "the caller checks the range against the bytes in memory"),
        "Martlet/Attachments/UploadWork.swift": (2, "R-110 bounds positions by the length, which is that of the bytes"),
        "Martlet/Outbox/InMemoryOutbox.swift": (1, "a counter of this process"),
        "Martlet/Outbox/Outbox.swift": (1, "the line before compares"),
        "Martlet/Shared/CounterSource.swift": (1, "counters of this process, from one below 2⁶² on (C-79)"),
        "Martlet/Shared/Inbox.swift": (1, "offsets of a gap are at least 1"),
        "MartletAuthentication/Tokens/TokenVerifier.swift": (1, "NumericDate bounds the date"),
        "Martlet/Engine/Attachments/Transfer.swift": (1, "bytes within the range of the transfer"),
        "Martlet/Engine/MessageLedger.swift": (1, "a higher counter follows"),
        "MartletLink/Collections/CounterWindow.swift": (3, "the same or the enclosing condition compares"),
        "MartletLink/Link/EncodedBody.swift": (1, "a range of bytes in memory"),
        "MartletLink/Link/Link+Transmit.swift": (1, "compared with a sequence that was sent"),
        "MartletLink/Link/LinkCredit.swift": (4, "sums of received bytes, which the announced limit bounds"),
        "MartletLink/Link/ReceiveStream.swift": (2, "credit is received within the announced limit only"),
        "MartletLink/Link/RecentlyEndedSessions.swift": (1, "the lines before compare"),
        "Link/SendQueue.swift": (5, "the caller compares with the sequences that were sent; sums of sent bytes"),
        "MartletLink/Link/SendStream.swift": (2, "sums of sent bytes; the same line compares"),
        "MartletLink/Link/SequenceRanges.swift": (1, "sequences in the window above a received one"),
        "MartletRelay/Engine/Attachments/AttachmentUpload.swift": (1, "the lines before compare"),
        "MartletRelay/Engine/CounterDigests.swift": (1, "at most the difference of the bounds"),
        "MartletRelay/Engine/DeduplicationWindow.swift": (4, "the same or the enclosing condition compares"),
        "MartletRelay/Engine/DeviceRecord.swift": (5, "the same or the enclosing condition compares"),
        "MartletRelay/Engine/LogRows.swift": (1, "the row contains the offset"),
        "Memberships/RelayRoom+Undelivered.swift": (3, "offsets of the log, which are below 2⁶³ (R-158)"),
        "MartletRelay/Engine/Publication.swift": (1, "the condition before compares"),
        "MartletRelay/Engine/RelayEngine+Memory.swift": (2, "numbers of bytes in memory"),
        "MartletRelay/Engine/Roles/RelayRoom+Roles.swift": (1, "the condition before compares"),
        "MartletRelay/Engine/RelayRoom+Log.swift": (4, "cursors are at most the last offset (R-10, R-158)"),
        "MartletRelay/Engine/RelayRoom.swift": (1, "the last offset is below 2⁶³ (R-158)"),
        "MartletRelay/Engine/RoomBatch.swift": (2, "offsets of the log, which are below 2⁶³ (R-158)"),
        "MartletRelay/Engine/RoomLog.swift": (2, "the last offset is below 2⁶³ (R-158)"),
        "MartletRelay/Engine/RoomMember.swift": (2, "cursors are at most the last offset (R-10, R-158)"),
        "MartletRelay/Access/SignedTokenAuthenticator.swift": (1, "NumericDate bounds the date, which is not over"),
        "MartletRelay/Attachments/AttachmentArchive.swift": (4, "the length of a valid file, at most maxByteCount"),
        "Attachments/AttachmentFile.swift": (9, "a valid file bounds its positions and lengths by maxByteCount"),
        "MartletRelay/Attachments/AttachmentUploads.swift": (3, "the lines before compare with the length"),
        "MartletRelay/Attachments/FileAttachmentStore.swift": (2, "the lines before compare with the length"),
        "MartletRelay/Attachments/InMemoryAttachmentStore.swift": (3, "the lines before compare with the length"),
        "MartletRelay/Store/MemoryLog.swift": (2, "times of the clock and offsets of the log in memory"),
        "MartletRelay/Store/MemoryLogs.swift": (1, "the offset is at least the first one, which is at least 1"),
        "MartletPostgres/PostgresConnection.swift": (1, "the range is in the bytes of the statement's values"),
        "MartletPostgres/PostgresPool.swift": (2, "RoomRow bounds offsets and times by 2⁶³, and the folded offset"),
        "MartletPostgres/PostgresReader.swift": (2, "the same condition bounds the offsets (R-158)"),
        "MartletPostgres/PostgresRetention.swift": (2, "RoomRow bounds offsets and times by 2⁶³; min is at most it"),
        "MartletRelaySQLite/BatchEraser.swift": (2, "the rows before are those from the first offset on"),
        "MartletRelaySQLite/BatchTable.swift": (2, "R-158 bounds offsets by 2⁶³; the line before compares"),
        "MartletRelaySQLite/RetentionPass.swift": (1, "R-158 bounds times by 2⁶³"),
        "MartletRelaySQLite/SQLiteStore.swift": (1, "R-158 bounds times by 2⁶³"),
        "MartletRelaySQLite/StoreReader.swift": (3, "the same condition bounds the offsets (R-158)"),
        "MartletRelaySQLite/StoreWriter.swift": (3, "R-158 bounds offsets by 2⁶³"),
        "MartletTimeline/EntryRow.swift": (1, "the initializer refuses negative offsets"),
        "MartletTimeline/GapTable.swift": (6, "the same or the enclosing condition compares"),
        "MartletTimeline/RoomQueries.swift": (1, "the initializer refuses negative offsets"),
        "MartletTimeline/Sync/SyncedRoom+History.swift": (1, "the condition before compares"),
        "MartletWire/Attachments/AttachmentResponse.swift": (1, "the same condition compares"),
        "MartletWire/Frames/Accepted.swift": (6, "isValid bounds the counters and offsets of a run"),
        "MartletWire/Frames/Ack.swift": (1, "the lines before compare"),
        "MartletWire/Frames/MessageView.swift": (2, "positions of fields in a body"),
    ]

    /// The names of the registry in the tree.
    static func names(in tree: SourceTree) -> Set<String> {
        guard let text = tree["Specs/registry.json"]?.text,
            let registry = try? JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any],
            let tags = registry["tags"] as? [[String: Any]]
        else { return [] }
        let parts = tags.compactMap { $0["parts"] as? String }.flatMap { $0.components(separatedBy: ", ") }
        let names = tags.filter { $0["type"] as? String == "u64" }.compactMap { $0["name"] as? String }
        return added.union(names).union(parts.compactMap { $0.hasPrefix("u64 ") ? String($0.dropFirst(4)) : nil })
            .subtracting(skipped)
    }

    static func findings(in tree: SourceTree) -> [Finding] {
        let names = names(in: tree)
        guard names.isSuperset(of: ["counter", "offset", "mutedUntil"]) else {
            return [Finding("Specs/registry.json", "the numbers cannot be read")]
        }
        let used = tree.swiftFiles.map { ($0.path, self.findings(in: $0, names)) }
        let wrong = used.flatMap { path, found -> [Finding] in
            let count = permitted.first { path.hasSuffix("/" + $0.key) }?.value.count ?? 0
            guard found.count != count else { return [] }
            return found + [Finding(path, "\(found.count) uses, and \(count) are permitted")]
        }
        let missing = permitted.keys.filter { end in !used.contains { $0.0.hasSuffix("/" + end) } }
        return wrong + tree.swiftFiles.flatMap(findingsOfElements)
            + missing.sorted().map { Finding("Sources", "\($0) does not exist") }
    }

    static func findings(in file: SourceFile, _ names: Set<String>) -> [Finding] {
        guard let module = file.module(under: "Sources"), !exempt.contains(module),
            !file.name.hasSuffix("+Registry.swift")
        else { return [] }
        let names = names.filter { name in local[name].map { $0.contains { file.path.contains($0) } } ?? true }
        return file.findings { code in
            guard code.contains(where: { "+-*(".contains($0) }), let use = use(in: code, names) else { return nil }
            return "\(use) can trap with a number of a peer or a file"
        }
    }

    /// Elements of ranges, which are never permitted.
    static func findingsOfElements(in file: SourceFile) -> [Finding] {
        guard let module = file.module(under: "Sources"), !exempt.contains(module) else { return [] }
        let present = file.present(elements)
        return file.findings { code in
            for element in present {
                for range in code.ranges(of: element)
                where ranges.contains(name(trailingPath(code[..<range.lowerBound]))) {
                    return "the elements of a range of numbers can be more than `Int` represents"
                }
            }
            return nil
        }
    }

    /// The first use in a line that can trap.
    private static func use(in code: String, _ names: Set<String>) -> String? {
        for sign in operators {
            for range in code.ranges(of: sign) {
                let (left, right) = (code[..<range.lowerBound], code[range.upperBound...])
                let path = trailingPath(left)
                let isBounded = right.hasPrefix("min(\(path),") || isOneRange(path, right)
                if !isBounded, let name = [name(path), leadingName(right)].first(where: names.contains) {
                    return name + sign
                }
            }
        }
        for conversion in conversions {
            for range in code.ranges(of: conversion) {
                let argument = code[range.upperBound...].prefix { $0 != ")" }
                if argument.allSatisfy(isInPath), names.contains(name(argument)) { return conversion + argument + ")" }
            }
        }
        return nil
    }

    private static func isInPath(_ character: Character) -> Bool {
        character.isLetter || character.isNumber || "_.?!$".contains(character)
    }

    private static func trailingPath(_ code: Substring) -> Substring {
        Substring(String(code.reversed().prefix(while: isInPath).reversed()))
    }

    /// The name at the end of a path.
    private static func name(_ path: Substring) -> String {
        String(path.filter { !"?!".contains($0) }.split(separator: ".").last ?? "")
    }

    /// The name of the path at the start of an operand; empty if it is called.
    private static func leadingName(_ operand: Substring) -> String {
        let path = operand.prefix(while: isInPath)
        return "([:".contains(operand.dropFirst(path.count).first ?? " ") ? "" : name(path)
    }

    /// Whether the operands are the bounds of one range.
    private static func isOneRange(_ left: Substring, _ right: Substring) -> Bool {
        let end = "upperBound"
        return left.hasSuffix(end) && right.hasPrefix(left.dropLast(end.count) + "lowerBound")
    }
}
