import MartletDecode
import MartletToolSupport
import MartletWire

extension Frame {
    /// The main fields of the frame in one line.
    var summary: String {
        switch self {
        case .message(let message): Self.summary(message)
        case .transient(let transient): Self.summary(transient)
        case .ack(let ack):
            Self.list([
                "credit \(ack.linkCredit)", ack.echo.map { "echo \($0.timestamp)" },
                Self.prefix(ack.sessions.map(Self.summary)),
            ])
        case .receipt(.progress(let progress)):
            Self.list([
                "\(progress.mark) to \(progress.upTo)", progress.sender.map { "sender \(Self.shown($0.text))" },
                progress.device.map { "device \($0)" },
            ])
        case .receipt(.refused(let refusal)):
            Self.list(["refused counter \(refusal.counter)", refusal.code.name, refusal.reason.map(Self.shown)])
        case .accepted(let accepted): Self.prefix(accepted.runs.map(Self.summary)) ?? ""
        case .gap(let gap): "offsets \(gap.offsets.lowerBound) to \(gap.offsets.upperBound)"
        case .ping(let ping): hex(ping.nonce, digits: 16)
        case .pong(let pong): "\(hex(pong.nonce, digits: 16)), echo \(pong.echo.timestamp)"
        case .hello(let hello):
            Self.list([
                "account \(Self.shown(hello.account.text))", "device \(hello.device)",
                hello.mechanism.map { "mechanism \(Self.shown($0.text))" },
                hello.resume.map { "resumes link \($0.link)" },
                "versions \(hello.spokenVersions.map(\.description).joined(separator: " "))",
                "features \(hello.features.names.joined(separator: " "))",
            ])
        case .welcome(let welcome):
            Self.list([
                "link \(welcome.link)", "epoch \(welcome.epoch)", welcome.resumed == nil ? "new" : "resumed",
                "version \(welcome.version)", "features \(welcome.features.names.joined(separator: " "))",
                welcome.credentialLifetime.map { "credential expires in \(Quantity.text($0))" },
            ])
        case .reject(let reject): Self.summary(reject.notice)
        case .goAway(let goAway): Self.summary(goAway.notice)
        case .auth(let auth):
            Self.list([
                auth.credential.map { "\($0.bytes.count) bytes" },
                auth.credentialLifetime.map { "expires in \(Quantity.text($0))" },
            ])
        case .open(let open):
            Self.list([
                "room \(Self.shown(open.room.text))", "\(open.kind)", "cursor \(open.cursor)",
                open.log.map { "log \($0)" }, open.tail.map { "tail \($0)" }, open.noLocal ? "no local" : nil,
            ])
        case .opened(let opened):
            Self.list([
                "head \(opened.head)", "first \(opened.first)", opened.log.map { "log \($0)" },
                opened.upTo.map { "of the earlier log up to \($0)" }, opened.counter.map { "counter \($0)" },
                Self.prefix(opened.members.map { Self.shown($0.text) }).map { "members " + $0 },
            ])
        case .close(let close): Self.list([close.code?.name, close.reason.map(Self.shown)])
        case .reset(let reset):
            Self.list([
                "session \(reset.session)", reset.code.name, reset.reason.map(Self.shown),
                reset.retryAfter.map { "retry after \(Quantity.text($0))" },
                reset.creditUsed.map { "credit used \($0)" },
            ])
        case .resume(let resume): resume.cursor.map { "cursor \($0)" } ?? ""
        case .update(let update):
            update.entry.map { entry in
                "room \(Self.shown(entry.room.text)), \(entry.membership), head \(entry.lastOffset)"
            } ?? "list again"
        case .request(let request):
            Self.list([
                "\(request.correlation) \(Self.shown(request.method.text))",
                request.recipient.map { "to \(Self.shown($0.text))" },
                request.sender.map { "from \(Self.shown($0.text))" },
                "deadline \(Quantity.text(request.deadline))",
            ])
        case .response(let response):
            Self.list([
                "\(response.correlation)", response.status.name, response.reason.map(Self.shown),
                response.retryAfter.map { "retry after \(Quantity.text($0))" },
            ])
        case .cancelRequest(let cancel): "\(cancel.correlation)"
        default: Self.summary(encode())
        }
    }

    /// The maximum number of characters of a text that are shown.
    private static let maxTextCount = 60
    /// The maximum number of repeated fields that are shown.
    private static let maxListCount = 4

    private static func list(_ parts: [String?]) -> String {
        parts.compactMap { $0 }.joined(separator: ", ")
    }

    private static func shown(_ text: String) -> String {
        let start = text.prefix(maxTextCount)
        return "\"\(SafeText.line(start))\"" + (start.endIndex < text.endIndex ? "…" : "")
    }

    private static func prefix(_ parts: [String]) -> String? {
        if parts.isEmpty { return nil }
        let more = parts.count - maxListCount
        return list(Array(parts.prefix(maxListCount)) + (more > 0 ? ["and \(more) more"] : []))
    }

    /// The first fields of a body with their names.
    private static func summary(_ body: [UInt8]) -> String {
        let fields = (try? FieldTree(parsing: body))?.fields ?? []
        return prefix(fields.filter { $0.depth == 0 }.map { "\($0.name) \($0.value?.text ?? "…")" }) ?? ""
    }

    private static func summary(_ message: Message) -> String {
        list([
            message.relay.map { "offset \($0.offset) from \(shown($0.sender.text))" }, "counter \(message.counter)",
            message.text.map(shown) ?? "\(message.kind.name), \(message.content.byteCount) bytes",
            message.timeToLive.map { "time to live \(Quantity.text($0))" },
        ])
    }

    private static func summary(_ transient: Transient) -> String {
        let content =
            switch transient.content {
            case .typing(let isTyping): isTyping ? "typing" : "not typing"
            case .presence(let presence): "\(presence)"
            case .message(let kind, let bytes): "\(kind.name), \(bytes.count) bytes"
            }
        return list([content, transient.sender.map { "sender \(shown($0.text))" }])
    }

    private static func summary(_ ack: SessionAck) -> String {
        let ranges = ack.ranges.map { " +\($0.lowerBound)-\($0.upperBound)" }.joined()
        return "\(ack.session): \(ack.cumulative)\(ranges)"
    }

    private static func summary(_ run: AcceptedRun) -> String {
        let offsets = run.firstOffset == 0 ? "known" : "offsets \(run.offsets.lowerBound) to \(run.offsets.upperBound)"
        return "counters \(run.counters.lowerBound) to \(run.counters.upperBound) \(offsets)"
    }

    private static func summary(_ notice: Notice) -> String {
        list([
            notice.code.name, notice.reason.map(shown), notice.retryAfter.map { "retry after \(Quantity.text($0))" },
            notice.redirect.map { "to \(shown($0))" },
        ])
    }
}
