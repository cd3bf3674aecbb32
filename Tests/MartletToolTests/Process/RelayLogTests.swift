import MartletLink
import MartletRelay
import MartletTelemetry
import MartletToolSupport
import MartletTransport
import MartletWebhook
import MartletWire
import Testing

@testable import MartletTool

@Suite struct RelayLogTests {
    private func refused() throws -> RelayLog.Entry {
        let account = AccountName("ada")
        let peer = SocketAddress("192.0.2.1:4711")
        return RelayLog.Entry(
            event: .relay(.note(.link(.refused(account, .unauthenticated)), peer: peer)), time: 1_700_000_000_123)
    }

    @Test func `a line of text begins with the time and ends with the peer`() throws {
        #expect(
            RelayLog.text(try refused())
                == "2023-11-14T22:13:20.123Z refused ada unauthenticated peer=192.0.2.1:4711")
        #expect(
            RelayLog.text(.init(event: .dropped(7), time: 0)) == "1970-01-01T00:00:00.000Z linesDropped count=7")
    }

    @Test func `a line for the journal begins with its priority and has no time`() throws {
        #expect(RelayLog.journal(try refused()) == "<4>refused ada unauthenticated peer=192.0.2.1:4711")
        #expect(RelayLog.journal(.init(event: .dropped(7))) == "<3>linesDropped count=7")
        #expect(RelayLog.journal(.init(event: .reloaded(nil))) == "<6>reloaded")
    }

    @Test func `a line of JSON contains the members of the text`() throws {
        let text = RelayLog.json(try refused())
        let start = #"{"time":"2023-11-14T22:13:20.123Z","event":"refused","account":"ada","#
        #expect(text == start + #""code":"unauthenticated","peer":"192.0.2.1:4711"}"#)
        let address = try #require(SocketAddress("[::1]:7227"))
        #expect(
            RelayLog.json(.init(event: .listening(address), time: 5))
                == #"{"time":"1970-01-01T00:00:00.005Z","event":"listening","address":"[::1]:7227","port":7227}"#)
    }

    @Test func `a record of the audit log → the same members in the log of JSON`() throws {
        let ada = AccountName("ada")
        let key = DeviceKey(account: ada, device: DeviceID(rawValue: 0xAB))
        let event = RelayEvent.note(.link(.linked(key, LinkID(rawValue: 7))), peer: SocketAddress("192.0.2.1:4711"))
        let record = try #require(AuditRecord(event))
        let line = AuditLog.line(.init(event: .relay(record), time: 5))
        #expect(RelayLog.json(.init(event: .audited(record), time: 5)) == line)
        #expect(
            RelayLog.json(.init(event: .reloaded("no"), time: 5))
                == AuditLog.line(.init(event: .reloaded("no"), time: 5)))
    }

    @Test func `a start that fails → its error and exit code as JSON`() {
        let entry = RelayLog.Entry(event: .startFailed(CommandError(.noInput, "no file")), time: 5)
        #expect(
            RelayLog.json(entry)
                == #"{"time":"1970-01-01T00:00:00.005Z","event":"startFailed","error":"no file","exitCode":66}"#)
    }

    @Test func `events → the levels at which they are logged`() throws {
        let (ada, lobby) = (AccountName("ada"), RoomName("lobby"))
        let key = DeviceKey(account: ada, device: DeviceID(rawValue: 0xAB))
        func level(_ event: RelayEvent) -> RelayLog.Level {
            AuditRecord(event).map { RelayLog.Event.audited($0).level } ?? RelayLog.Event.relay(event).level
        }
        #expect(level(.storeFailed(lobby, CancellationError())) == .error)
        #expect(level(.storeRecovered) == .warning)
        #expect(level(.note(.link(.refused(ada, .unauthenticated)), peer: nil)) == .warning)
        #expect(level(.note(.link(.linked(key, LinkID(rawValue: 7))), peer: nil)) == .info)
        #expect(level(.note(.link(.ended(key, LinkID(rawValue: 7))), peer: nil)) == .debug)
        #expect(level(.note(.link(.resumed(key, LinkID(rawValue: 7), epoch: Epoch(rawValue: 2))), peer: nil)) == .debug)
        #expect(RelayLog.Event.reloaded("no").level == .error)
        #expect(RelayLog.Event.reloaded(nil).level == .info)
        #expect(RelayLog.Level.error < .warning && .info < RelayLog.Level.debug)
    }

    @Test func `refused connections, rooms and revocations → their fields`() throws {
        let ada = AccountName("ada")
        let lobby = RoomName("lobby")
        let key = DeviceKey(account: ada, device: DeviceID(rawValue: 0xAB))
        let events: [RelayEvent] = [
            .connectionsRefused(7, latest: SocketAddress("192.0.2.1:4711")), .note(.roomRefused(key, lobby), peer: nil),
            .revoked(ada), .roomDecisionsRevoked(of: nil, in: lobby),
        ]
        #expect(
            events.map { RelayLog.text(.init(event: .relay($0), time: 0)) } == [
                "1970-01-01T00:00:00.000Z connectionsRefused count=7 peer=192.0.2.1:4711",
                "1970-01-01T00:00:00.000Z roomRefused ada ab lobby roomForbidden",
                "1970-01-01T00:00:00.000Z revoked ada",
                "1970-01-01T00:00:00.000Z roomDecisionsRevoked lobby",
            ])
    }

    @Test func `operations on rooms, their creation, and invalid roles → their fields`() throws {
        let ada = AccountName("ada")
        let lobby = RoomName("lobby")
        let key = DeviceKey(account: ada, device: DeviceID(rawValue: 0xAB))
        let mute = RoomOperationRecord(.mute(ada, seconds: 60), by: key, in: lobby, .none)
        let close = RoomOperationRecord(.setAccess(.closed), by: key, in: lobby, .forbidden)
        let notes: [RelayNote] = [
            .roomCreated(key, lobby, .none), .roomCreated(key, lobby, .tooManyRooms), .roomOperation(mute),
            .roomOperation(close), .rolesInvalid(lobby, .tooLong),
        ]
        #expect(
            notes.map { RelayLog.text(.init(event: .relay(.note($0, peer: nil)), time: 0)).dropFirst(25) } == [
                "roomCreated ada ab lobby", "roomCreated ada ab lobby tooManyRooms",
                "roomOperation ada ab lobby operation=room.mute target=ada value=\"60 s\"",
                "roomOperation ada ab lobby operation=room.access value=closed forbidden", "rolesInvalid lobby tooLong",
            ])
    }

    @Test func `names that imitate fields -> quoted, so that they are one word`() {
        let key = DeviceKey(
            account: AccountName("ada 1234 peer=10.0.0.1:9"), device: DeviceID(rawValue: 0xAB))
        let room = RoomName(#"x"\y"#)
        #expect(
            RelayLog.text(.init(event: .relay(.note(.roomRefused(key, room), peer: nil)), time: 0)).dropFirst(25)
                == #"roomRefused "ada 1234 peer=10.0.0.1:9" ab "x\"\\y" roomForbidden"#)
    }

    @Test func `events of telemetry → their fields and levels`() {
        let events: [(RelayLog.Event, RelayLog.Level, String)] = [
            (.telemetry(.unavailable(status: 401)), .warning, "telemetryUnavailable status=401"),
            (.telemetry(.unavailable(status: nil)), .warning, "telemetryUnavailable"),
            (.telemetry(.recovered), .info, "telemetryRecovered"),
            (.telemetry(.rejected(count: 3, status: 400)), .warning, "telemetryRejected count=3 status=400"),
            (.telemetry(.spoolFull), .warning, "telemetrySpoolFull"),
            (.telemetry(.spoolFailed("no")), .error, "telemetrySpoolFailed no"),
            (.telemetry(.spoolRecovered), .info, "telemetrySpoolRecovered"),
            (.repeated(.telemetry(.spoolFull), 3), .warning, "telemetrySpoolFull count=3"),
            (.telemetry(.spoolDamaged(byteCount: 9)), .error, "telemetrySpoolDamaged byteCount=9"),
        ]
        for (event, level, text) in events {
            #expect(event.level == level)
            #expect(RelayLog.text(.init(event: event, time: 0)).dropFirst(25) == text)
        }
    }

    @Test func `lost audit records, and the cause of a refused credential → their fields`() throws {
        let ada = AccountName("ada")
        #expect(RelayLog.text(.init(event: .auditLost(7), time: 0)).dropFirst(25) == "auditRecordsLost count=7")
        let event = RelayEvent.authenticationRefused(ada, cause: "the token is for another audience")
        #expect(
            RelayLog.text(.init(event: .relay(event), time: 0)).dropFirst(25)
                == #"authenticationRefused ada reason="the token is for another audience""#)
    }

    @Test func `a failure of TLS with and without a peer → its description, and the peer if there is one`() {
        let events: [RelayEvent] = [
            .tlsFailed(.selfSigned(subject: "CN=ada"), peer: SocketAddress("192.0.2.1:4711")),
            .tlsFailed(.protocolError("no random bytes"), peer: nil),
        ]
        #expect(
            events.map { RelayLog.text(.init(event: .relay($0), time: 0)).dropFirst(25) } == [
                #"tlsFailed "the certificate of CN=ada is self-signed" peer=192.0.2.1:4711"#,
                #"tlsFailed "TLS failed: no random bytes""#,
            ])
        #expect(
            events.map { RelayLog.json(.init(event: .relay($0), time: 5)) } == [
                #"{"time":"1970-01-01T00:00:00.005Z","event":"tlsFailed","#
                    + #""error":"the certificate of CN=ada is self-signed","peer":"192.0.2.1:4711"}"#,
                #"{"time":"1970-01-01T00:00:00.005Z","event":"tlsFailed","error":"TLS failed: no random bytes"}"#,
            ])
    }

    // W-31
    @Test func `control characters in an account's name are refused`() {
        for scalar in "\u{1B}\u{7F}\u{9B}\u{2028}\u{202E}\u{2066}\n\t".unicodeScalars {
            #expect(AccountName("a\(scalar)b") == nil)
        }
    }

    // R-137
    @Test func `a report that failed and dropped reports → their fields`() throws {
        let lobby = RoomName("lobby")
        let events: [RelayEvent] = [
            .undeliveredFailed(lobby, WebhookError.refused(status: 404)), .undeliveredReportsDropped(3),
        ]
        #expect(
            events.map { RelayLog.text(.init(event: .relay($0), time: 0)) } == [
                "1970-01-01T00:00:00.000Z undeliveredFailed lobby "
                    + "\"the gateway refused the request with status 404\"",
                "1970-01-01T00:00:00.000Z undeliveredReportsDropped count=3",
            ])
    }
}
