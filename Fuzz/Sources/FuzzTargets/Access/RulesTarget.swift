import MartletLink
import MartletRelay
import MartletWire

/// Rules of rooms: nothing traps, errors name a line of the text, and only a line that begins with `allow` permits.
///
/// Input: a text of rules.
enum RulesTarget {
    private static let rooms = ["lobby", "dm/alice/bob", "a", "team-*"]

    static func run(_ input: RawSpan) {
        let bytes = [UInt8](copying: input)
        let lineCount = bytes.count { $0 == UInt8(ascii: "\n") } + 1
        do throws(RoomRulesError) {
            let rules = try RoomRules(parsing: bytes)
            let permits = String(decoding: bytes, as: UTF8.self).contains("allow")
            for name in rooms {
                guard let room = RoomName(name) else { continue }
                let account: AccountName = "alice"
                let claims = Claims(roles: ["staff"], values: ["tenant": "acme"])
                let request = RoomAuthorizationRequest(
                    identity: Identity(account, claims: claims), device: DeviceID(rawValue: 1), room: room)
                let decision = rules.immediateDecision(on: request)
                hold(decision == .refused || permits, "rules without \"allow\" permit \(name)")
            }
        } catch {
            hold((1...lineCount).contains(error.line), "the error names line \(error.line) of \(lineCount)")
        }
    }
}
