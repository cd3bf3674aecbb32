import MartletHTTP
import MartletLink
import MartletMetrics
import MartletRelay
import MartletTransport
import MartletWire

/// What the port shows of a relay.
protocol AdminSource: Sendable {
    var metrics: MetricsSnapshot { get async }
    var impediments: [RelayImpediment] { get async }
    /// A page of the messages of a room from an offset; nil if they cannot be read.
    func messages(of room: RoomName, from offset: UInt64) async -> [LogEntry]?
    /// Whether a stored delete by the account erases messages of others.
    func erasesOthers(_ account: AccountName) -> Bool
}

/// A relay, which the port does not keep alive.
struct RelaySource: AdminSource {
    private weak let relay: Relay?

    init(_ relay: Relay) { self.relay = relay }

    /// The metrics of the relay, and those of the process.
    var metrics: MetricsSnapshot {
        get async {
            var metrics = await relay?.metrics ?? MetricsSnapshot()
            ProcessMetrics.add(to: &metrics)
            return metrics
        }
    }
    var impediments: [RelayImpediment] { get async { await relay?.impediments ?? [.notRunning] } }

    func messages(of room: RoomName, from offset: UInt64) async -> [LogEntry]? {
        await relay?.messages(of: room, from: offset)
    }

    func erasesOthers(_ account: AccountName) -> Bool { relay?.erasesOthers(account) ?? false }
}

/// The loop's side of an `AdminServer`: answers requests, and samples the metrics.
final class AdminDriver: @unchecked Sendable {  // used on its loop
    /// The interval of samples.
    static let sampleInterval = Duration.seconds(2)

    let loop: EventLoop
    private let source: any AdminSource
    private let alerts: AlertMonitor?
    let access: Guarded<AdminAccess>
    /// The TLS of connections; nil for connections in the clear.
    let tls: Guarded<TLSServer?>
    private lazy var server = HTTPServer(on: loop) { [weak self] request, certificate in
        await self?.answer(request, hasCertificate: certificate != nil) ?? .response(HTTPResponse(.serviceUnavailable))
    }
    private lazy var events = SampleEvents(after: loop.wallTime)
    private var cards: CardEvents
    /// The position of the last event of a card that was sent to all streams.
    private var lastCardID: UInt64 = 0
    private var isReadingCards = false
    private var streams: [ObjectIdentifier: HTTPStream] = [:]
    private lazy var timer = LoopTimer(on: loop) { [weak self] in self?.sample() }
    private var isClosed = false

    init(
        _ source: any AdminSource, _ alerts: AlertMonitor?, _ access: AdminAccess, _ tls: TLSServer?,
        cardsOf rooms: [RoomName] = [], on loop: EventLoop
    ) {
        (self.source, self.alerts, self.loop) = (source, alerts, loop)
        cards = CardEvents(rooms: rooms) { source.erasesOthers($0) }
        self.access = Guarded(access)
        self.tls = Guarded(tls)
    }

    func start() { sample() }

    func accept(_ transport: any Transport) {
        guard let tls = tls.withLock({ $0 }) else { return server.accept(transport) }
        if let secured = tls.transport(over: transport) { server.accept(secured) }
    }

    func close() {
        isClosed = true
        timer.set(deadline: nil)
        server.closeAll()
    }

    // MARK: Requests

    private func answer(_ request: HTTPRequest, hasCertificate: Bool) async -> HTTPAnswer {
        guard request.method == "GET" || request.method == "HEAD" else {
            return .response(HTTPResponse(.methodNotAllowed, [HTTPField("allow", "GET, HEAD")]))
        }
        switch request.path {
        case "/": return .response(StatusPage.response)
        case "/health/live": return .response(HTTPResponse(text: "live\n"))
        case "/health/ready": return .response(Self.readiness(await source.impediments))
        case "/metrics", "/events": break
        default: return .response(HTTPResponse(.notFound))
        }
        if let refusal = access.withLock({ $0 }).refusal(of: request, hasCertificate: hasCertificate) {
            return .response(refusal)
        }
        guard request.path == "/events" else { return .response(Self.text(of: await source.metrics, for: request)) }
        let last = request["last-event-id"].flatMap { UInt64($0) }
        let head = HTTPResponse(
            .ok, [HTTPField("content-type", "text/event-stream"), HTTPField("cache-control", "no-store")])
        return .stream(head) { [weak self] stream in self?.opened(stream, after: last) }
    }

    private static func readiness(_ impediments: [RelayImpediment]) -> HTTPResponse {
        guard !impediments.isEmpty else { return HTTPResponse(text: "ready\n") }
        return HTTPResponse(.serviceUnavailable, text: impediments.map { "\($0.rawValue)\n" }.joined())
    }

    private static func text(of metrics: MetricsSnapshot, for request: HTTPRequest) -> HTTPResponse {
        let accepted = request["accept"]?.lowercased().split { ",; ".contains($0) } ?? []
        let isOpenMetrics = accepted.contains("application/openmetrics-text")
        let format = isOpenMetrics ? MetricsSnapshot.TextFormat.openMetrics : .prometheus
        return HTTPResponse(text: metrics.text(format), type: format.mediaType)
    }

    // MARK: Events

    private func opened(_ stream: HTTPStream, after last: UInt64?) {
        guard !isClosed else { return stream.end() }
        let id = ObjectIdentifier(stream)
        streams[id] = stream
        stream.onEnd = { [weak self] in self?.streams[id] = nil }
        let position = events.position(last)
        if position == nil, !cards.rooms.isEmpty { stream.send(cards.beginning) }
        let missed = events.events(after: position) + cards.events(after: position)
        for event in missed.sorted(by: { $0.id < $1.id }) { stream.send(event.bytes) }
    }

    private func sample() {
        loop.startTask { [weak self, loop, source] in
            let (metrics, impediments) = (await source.metrics, await source.impediments)
            loop.execute { [weak self] in self?.sampled(metrics, impediments) }
        }
    }

    private func sampled(_ metrics: MetricsSnapshot, _ impediments: [RelayImpediment]) {
        guard !isClosed else { return }
        let event = events.add(metrics, impediments, alerts?.raised ?? [], at: loop.wallTime)
        for stream in streams.values { stream.send(event) }
        timer.set(deadline: loop.deadline(after: Self.sampleInterval))
        if !isReadingCards { readCards(of: cards.rooms[...]) }
    }

    // MARK: Cards

    /// Reads what rooms have since the last time, a page after the other, then sends the changed cards.
    private func readCards(of rooms: ArraySlice<RoomName>) {
        isReadingCards = !rooms.isEmpty
        guard let room = rooms.first else { return sendCards() }
        let offset = cards.nextOffset(of: room)
        loop.startTask { [weak self, loop, source] in
            let entries = await source.messages(of: room, from: offset)
            loop.execute { [weak self] in self?.read(entries, rooms) }
        }
    }

    private func read(_ entries: [LogEntry]?, _ rooms: ArraySlice<RoomName>) {
        guard !isClosed, let room = rooms.first else { return }
        let hasMore = entries.map { cards.add($0, of: room) { events.nextID() } } ?? false
        readCards(of: hasMore ? rooms : rooms.dropFirst())
    }

    private func sendCards() {
        for event in cards.events(after: lastCardID) {
            for stream in streams.values { stream.send(event.bytes) }
            lastCardID = event.id
        }
    }
}
