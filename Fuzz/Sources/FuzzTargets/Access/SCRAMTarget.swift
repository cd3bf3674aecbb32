import MartletAuthentication
import MartletWire

/// SCRAM at the server, and password files: nothing traps, and no proof is accepted without the password.
///
/// Input: a byte for the kind; the first message of a client, a line feed, and its last message; or a password file.
enum SCRAMTarget {
    private static let secret = [UInt8](repeating: 3, count: 32)
    private static let record = try? SCRAMRecord(
        password: "a password that no input contains", salt: [UInt8](repeating: 1, count: 16), iterations: 4096)

    static func run(_ input: RawSpan) {
        guard input.byteCount > 0 else { return }
        let kind = input.loadUInt8(at: 0)
        let bytes = [UInt8](copying: input.extracting(droppingFirst: 1))
        guard kind & 1 == 0 else { return parse(bytes) }
        let messages = bytes.split(separator: UInt8(ascii: "\n"), maxSplits: 1, omittingEmptySubsequences: false)
        let first = Array(messages.first ?? [])
        let final = messages.count > 1 ? Array(messages[1]) : []
        guard let record, let unknown = try? UnknownUserRecords(secret: secret, iterations: 4096) else {
            return hold(false, "the fixed records are not valid")
        }
        let binding: SCRAMServer.BindingPolicy = kind & 2 == 0 ? .none : .required(exporter: secret)
        do throws(SCRAMError) {
            let nonce = [UInt8](repeating: 65, count: 24)
            var server = try SCRAMServer(nonce: nonce, binding: binding, unknownUsers: unknown)
            _ = try server.receive(clientFirst: first)
            _ = try server.challenge(with: kind & 4 == 0 ? record : nil)
            _ = try server.receive(clientFinal: final)
            hold(false, "a forged proof is accepted")
        } catch {
            hold(!"\(error)".isEmpty, "an error has no description")
        }
    }

    /// A parsed file is written as it was read.
    private static func parse(_ bytes: [UInt8]) {
        guard let file = try? PasswordFile(parsing: bytes) else { return }
        guard let again = try? PasswordFile(parsing: file.bytes) else {
            return hold(false, "a written file is not valid")
        }
        hold(again.names.elementsEqual(file.names), "a written file has other names")
    }
}
