import MartletProtocol
import MartletRelay
import MartletWire

/// A relay's events as lines for a log.
enum RelayLog {
    /// One event for a machine; `time` is in milliseconds since 1970.
    static func json(_ event: RelayEvent, time: Int64) -> JSONLine {
        .object([.init("time", .count(time))] + members(of: event))
    }

    /// One event for a person.
    static func text(_ event: RelayEvent) -> String {
        members(of: event).map { member in
            if case .string(let text) = member.value { SafeText.line(text) } else { member.value.text }
        }
        .joined(separator: " ")
    }

    private static func members(of event: RelayEvent) -> [JSONLine.Member] {
        switch event {
        case .note(let note): members(of: note)
        case .acceptingPaused(let error):
            [.init("event", .string("acceptingPaused")), .init("error", .string("\(error)"))]
        case .storeFailed(let room, let error):
            [
                .init("event", .string("storeFailed")), .init("room", .string(room.text)),
                .init("error", .string("\(error)")),
            ]
        case .authenticatorFailed(let account, let error):
            [
                .init("event", .string("authenticatorFailed")), .init("account", .string(account.text)),
                .init("error", .string("\(error)")),
            ]
        }
    }

    private static func members(of note: RelayNote) -> [JSONLine.Member] {
        switch note {
        case .linked(let key, _): device("linked", key)
        case .resumed(let key, _, let epoch): device("resumed", key) + [.init("epoch", .count(epoch.rawValue))]
        case .suspended(let key, _): device("suspended", key)
        case .ended(let key, _): device("ended", key)
        case .refused(let account, let code):
            [
                .init("event", .string("refused")), .init("account", .string(account.text)),
                .init("code", .string(code.name)),
            ]
        case .faulted(let code): [.init("event", .string("faulted")), .init("code", .string(code.name))]
        }
    }

    private static func device(_ event: String, _ key: DeviceKey) -> [JSONLine.Member] {
        [
            .init("event", .string(event)), .init("account", .string(key.account.text)),
            .init("device", .string(String(key.device.rawValue, radix: 16))),
        ]
    }
}
