import Martlet
import MartletRelay
import MartletToolSupport
import MartletWire

/// `martlet cluster`: the relays that share a database, over the protocol and the bus between them.
enum ClusterCommand {
    private static let json = Option.flag("json", help: "write each relay as one JSON object in a line")
    private static let wait = Option.duration(
        "wait", "S", in: .seconds, help: "with drain: maximum duration of waiting until the relay has ended [0]")
    /// The interval at which `drain` looks whether the relay has ended.
    private static let pollInterval = Duration.milliseconds(500)

    static let spec = CommandSpec(
        name: "cluster",
        summary: "List the relays that share a database, or drain one of them.",
        operand: "ACTION [RELAY]",
        options: ClientOptions.specsWithoutRoom + [ClientOptions.timeout.spec, wait.spec, json.spec],
        notes: [
            """
            status lists the relays of the bus (serve --bus), the one that answers first: its name (serve --name), \
            whether it serves, drains or is away, its links and rooms in memory, its program, the milliseconds by \
            which its clock is ahead, and the milliseconds since it was heard. A relay that was not heard for three \
            seconds is away, and after half a minute it is not listed; one that has ended is not listed at once. \
            Relays with the same name are marked, and none of them can be drained.
            """,
            """
            drain RELAY ends the relay with this name as the signal TERM does: it accepts no connection, requests its \
            clients to connect again, each after a random part of a millisecond for each client, and ends after \
            --drain of serve. To replace all relays, drain one after another, and wait until each one is listed \
            again: cluster drain --wait 60 NAME. A relay that is not heard for three seconds counts as ended, too.
            """,
            """
            The relay performs an action if --rooms of 'martlet serve' has a line such as "allow administer in \
            \(RoomName.administration.text) to account root" for --account.
            """,
        ],
        exitCodes: [
            ExitMeaning(.success, "the relays are listed, or the relay drains and, with --wait, is silent"),
            ExitMeaning(.failure, "no relay has the name, it has not ended within --wait, or the relay refused"),
            ExitMeaning(.inputOutput, "writing failed"),
        ] + ClientOptions.exitCodes
    ) { arguments in try await Interruptions.cancel { try await run(arguments) } }

    private static func run(_ arguments: ParsedArguments) async throws -> ExitCode {
        let operands = arguments.operands
        switch (operands.first, operands.count) {
        case ("status", 1):
            guard arguments[wait] == nil else { throw UsageError(message: "'--wait' requires the action drain") }
            let isJSON = arguments.has(json)
            return try await AdminCommand.connected(arguments, agent: "cluster") { client in
                for line in try await lines(of: relays(client), isJSON: isJSON) { try Output.print(line) }
            }
        case ("drain", 2):
            let (name, wait) = (operands[1], arguments[wait] ?? .zero)
            return try await AdminCommand.connected(arguments, agent: "cluster") { client in
                try await drain(name, within: wait, client)
            }
        default: throw UsageError(message: "the forms are status, and drain RELAY")
        }
    }

    /// All relays of the bus.
    private static func relays(_ client: Client, within wait: Duration? = nil) async throws -> [PeerRelay] {
        let timeout = max(min(wait ?? AdminCommand.maxWait, AdminCommand.maxWait), pollInterval)
        var (found, next): ([PeerRelay], UInt64?) = ([], nil)
        repeat {
            let query = AdministrationQuery(next: next)
            let answer = try await client.request(
                AdministrationMethod.relays.rawValue, content: query.encode(), timeout: timeout)
            let content = answer.content ?? []
            let page = try AdministrationPage(parsing: content.rawBytes)
            found += try page.items.map { try PeerRelay(parsing: $0.rawBytes) }
            guard page.next != next else { break }
            next = page.next
        } while next != nil
        return found
    }

    /// The relay with a name. A relay that has just started hears the others within a second or two.
    private static func find(_ name: String, _ client: Client) async throws -> PeerRelay {
        let end = ContinuousClock.now + BusPeers.lossTimeout
        while true {
            let listed = try await relays(client)
            let found = listed.filter { $0.name == name }
            let current = found.filter { state(of: $0, in: listed) != .away }
            // An earlier process of the relay may have been heard a moment ago.
            if let relay = current.first ?? found.last, current.count < 2 { return relay }
            guard ContinuousClock.now < end else {
                guard found.isEmpty else {
                    throw CommandError(.failure, "several relays have the name \(name): end them by their processes")
                }
                throw CommandError(.failure, "no relay has the name \(name): see 'martlet cluster status'")
            }
            try await Task.sleep(for: pollInterval)
        }
    }

    private static func drain(_ name: String, within wait: Duration, _ client: Client) async throws {
        let relay = try await find(name, client)
        let query = AdministrationQuery(name: name)
        try await unlessLost {
            _ = try await client.request(
                AdministrationMethod.drain.rawValue, content: query.encode(), timeout: AdminCommand.maxWait)
        }
        let end = ContinuousClock.now + wait
        // A relay that is silent has ended, or is stopped, or the bus is away: others cannot tell these apart.
        while wait > .zero {
            let listed = try await unlessLost { try await relays(client, within: end - .now) }
            let found = listed?.first { $0.relay == relay.relay }
            if let listed, found.map({ state(of: $0, in: listed) == .away }) ?? true { return }
            guard ContinuousClock.now < end else {
                throw CommandError(.failure, "the relay \(name) has not ended within \(wait)")
            }
            try await Task.sleep(for: pollInterval)
        }
    }

    /// The value of a request; nil if its link ended first, because the relay that drains has taken it, or if there is
    /// no answer in time.
    private static func unlessLost<Value>(_ body: () async throws -> Value) async throws -> Value? {
        do { return try await body() } catch let error as MartletError
            where error.code == .connectionLost || error.code == .deadlineExceeded
        { return nil }
    }

    // MARK: Lines

    private enum State: String {
        case serves, drains, away
    }

    /// The milliseconds since a relay was heard, by the clock of the first one, which answers.
    private static func age(of relay: PeerRelay, in relays: [PeerRelay]) -> UInt64? {
        guard let heardAt = relay.lastHeardAt, let now = relays.first?.relayClock else { return nil }
        return now - min(heardAt, now)
    }

    private static func state(of relay: PeerRelay, in relays: [PeerRelay]) -> State {
        if let age = age(of: relay, in: relays), Duration.milliseconds(age) >= BusPeers.lossTimeout { return .away }
        return relay.isDraining ? .drains : .serves
    }

    static func lines(of relays: [PeerRelay], isJSON: Bool) -> [String] {
        let current = relays.filter { state(of: $0, in: relays) != .away }
        return relays.map { relay in
            let state = state(of: relay, in: relays).rawValue
            let isShared = state != State.away.rawValue && current.count { $0.name == relay.name } > 1
            let age = age(of: relay, in: relays)
            // How far the clock was ahead when the relay was heard.
            let ahead = relay.lastHeardAt.map { Int64(clamping: relay.relayClock) - Int64(clamping: $0) }
            guard isJSON else {
                let times = ahead.flatMap { ahead in age.map { "  clock \(ahead)  heard \($0)" } } ?? ""
                let counts = "links \(relay.linkCount)  rooms \(relay.roomCount)"
                let note = isShared ? "  (several relays have this name)" : ""
                return SafeText.line("\(relay.name)  \(state)  \(counts)  \(relay.agent)\(times)\(note)")
            }
            let members: [JSONLine.Member?] = [
                .init("name", .string(relay.name)), .init("state", .string(state)),
                .init("links", .count(Int(relay.linkCount))), .init("rooms", .count(Int(relay.roomCount))),
                .init("agent", .string(relay.agent)),
                .init("relay", .string(String(relay.relay.rawValue, radix: 16))),
                ahead.map { .init("clockAhead", .count($0)) }, age.map { .init("heardAgo", .count($0)) },
                isShared ? .init("isNameShared", .bool(true)) : nil,
            ]
            return JSONLine.object(members.compactMap { $0 }).text
        }
    }
}
