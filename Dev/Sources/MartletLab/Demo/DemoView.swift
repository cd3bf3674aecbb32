import MartletToolSupport

/// The output of the demo: a few live lines during the run, and a table at the end.
struct DemoView: Equatable, Sendable {
    /// The number of messages to deliver.
    var messageCount: Int
    /// The latest report of the sending process.
    var sender = TransferReport()
    /// The latest report of the listening process.
    var listener = TransferReport()
    /// The report of the link.
    var link = WeakLinkReport()
    /// Whether the black hole is in effect.
    var isBlackHole = false
    /// The time since the start of the demo.
    var elapsed = Duration.zero

    /// Returns the live lines.
    func lines(columns: Int) -> [StyledLine] {
        var link = StyledLine("  link      ", .bold)
        link.append("\(self.link.cutCount) cuts", self.link.cutCount > 0 ? .yellow : .plain)
        link.append("  \(Quantity.text(byteCount: self.link.upByteCount)) up")
        link.append("  \(Quantity.text(byteCount: self.link.downByteCount)) down")
        if isBlackHole { link.append("  black hole: no bytes pass", .red) }
        return [
            row("sender", sender.accepted, "accepted", sender, columns),
            link.clipped(to: columns),
            row("listener", listener.received, "received", listener, columns),
            StyledLine("  \(Quantity.clock(elapsed))", .dim),
        ]
    }

    private func row(_ name: String, _ count: Int, _ verb: String, _ report: TransferReport, _ columns: Int)
        -> StyledLine
    {
        let share = messageCount > 0 ? Double(count) / Double(messageCount) : 0
        let filled = Int(min(share, 1) * 24)
        var row = StyledLine("  " + name + String(repeating: " ", count: 10 - name.count), .bold)
        row.append(String(repeating: "\u{2588}", count: filled), .green)
        row.append(String(repeating: "\u{2591}", count: 24 - filled), .dim)
        row.append(" \(Quantity.grouped(count)) \(verb)  ")
        row.append(report.online ? "online" : SafeText.line(report.status), report.online ? .green : .yellow)
        return row.clipped(to: columns)
    }

    /// Returns the table at the end.
    func table(_ comparison: DemoComparison, lineCount: Int) -> String {
        let rows: [(String, String)] = [
            ("sent", "\(Quantity.grouped(lineCount)) lines in \(Quantity.grouped(sender.sent)) messages"),
            ("accepted", "\(Quantity.grouped(sender.accepted)) messages"),
            ("received", "\(Quantity.grouped(comparison.receivedLineCount)) lines"),
            ("duplicates", Quantity.grouped(comparison.duplicateCount)),
            ("losses", Quantity.grouped(comparison.lossCount)),
            ("link", "\(link.cutCount) cuts, \(Quantity.text(byteCount: link.lostByteCount)) lost in flight"),
            ("reconnects", "\(sender.reconnects) sender, \(listener.reconnects) listener"),
            ("resumes", "\(sender.resumes) sender, \(listener.resumes) listener"),
            ("retransmissions", "\(Quantity.grouped(sender.retransmissions)) frames of the sender"),
            ("round trip", "p50 \(Self.milliseconds(sender.rttP50)), p99 \(Self.milliseconds(sender.rttP99))"),
            (
                "bytes",
                "\(Quantity.text(byteCount: link.upByteCount)) up, \(Quantity.text(byteCount: link.downByteCount)) down"
            ),
            ("time", Quantity.text(elapsed)),
            ("SHA-256 sent", comparison.sentDigest),
            ("SHA-256 received", comparison.receivedDigest),
        ]
        return rows.map { label, value in
            "  " + label + String(repeating: " ", count: 18 - label.count) + value
        }
        .joined(separator: "\n")
    }

    /// Returns the table as JSON.
    func json(_ comparison: DemoComparison, lineCount: Int) -> JSONLine {
        .object([
            .init("lines", .count(lineCount)), .init("sent", .count(sender.sent)),
            .init("accepted", .count(sender.accepted)), .init("received", .count(comparison.receivedLineCount)),
            .init("duplicates", .count(comparison.duplicateCount)), .init("losses", .count(comparison.lossCount)),
            .init("cuts", .count(link.cutCount)), .init("reconnects", .count(sender.reconnects + listener.reconnects)),
            .init("resumes", .count(sender.resumes + listener.resumes)),
            .init("retransmissions", .count(sender.retransmissions + listener.retransmissions)),
            .init("rttP50", sender.rttP50.map { .decimal($0) } ?? .null),
            .init("rttP99", sender.rttP99.map { .decimal($0) } ?? .null),
            .init("bytesUp", .count(link.upByteCount)), .init("bytesDown", .count(link.downByteCount)),
            .init("seconds", .decimal(Quantity.seconds(elapsed))),
            .init("sha256Sent", .string(comparison.sentDigest)),
            .init("sha256Received", .string(comparison.receivedDigest)),
            .init("identical", .bool(comparison.isIdentical)),
        ])
    }

    private static func milliseconds(_ value: Double?) -> String {
        value.map { "\(Quantity.fixed($0, digits: 0)) ms" } ?? "unknown"
    }
}
