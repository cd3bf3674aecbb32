import MartletAuthentication
import MartletWire

/// SCRAM at the server and at the client, and password files: nothing traps, no proof is accepted without the password,
/// and no server without the keys.
///
/// Input: a byte for the kind; two messages of the peer with a line feed between them; or a password file.
enum SCRAMTarget {
    private static let password = "a password that no input contains"
    private static let secret = [UInt8](repeating: 3, count: 32)
    private static let nonce = [UInt8](repeating: 65, count: 24)
    private static let record = try? SCRAMRecord(
        password: password, salt: [UInt8](repeating: 1, count: 16), iterations: 4096)

    static func run(_ input: RawSpan) {
        guard input.byteCount > 0 else { return }
        let kind = input.loadUInt8(at: 0)
        let bytes = [UInt8](copying: input.extracting(droppingFirst: 1))
        guard kind & 1 == 0 else { return parse(bytes) }
        let messages = bytes.split(separator: UInt8(ascii: "\n"), maxSplits: 1, omittingEmptySubsequences: false)
        let first = Array(messages.first ?? [])
        let final = messages.count > 1 ? Array(messages[1]) : []
        if kind & 8 == 0 { runServer(kind, first, final) } else { runClient(kind, first, final) }
    }

    private static func runServer(_ kind: UInt8, _ first: [UInt8], _ final: [UInt8]) {
        guard let record, let unknown = try? UnknownUserRecords(secret: secret, iterations: 4096) else {
            return hold(false, "the fixed records are not valid")
        }
        let binding: SCRAMServer.BindingPolicy = kind & 2 == 0 ? .none : .required(exporter: secret)
        do throws(SCRAMError) {
            var server = try SCRAMServer(nonce: nonce, binding: binding, unknownUsers: unknown)
            _ = try server.receive(clientFirst: first)
            _ = try server.challenge(with: kind & 4 == 0 ? record : nil)
            _ = try server.receive(clientFinal: final)
            hold(false, "a forged proof is accepted")
        } catch {
            hold(!"\(error)".isEmpty, "an error has no description")
        }
    }

    private static func runClient(_ kind: UInt8, _ first: [UInt8], _ final: [UInt8]) {
        // A million iterations, which are valid, take a second.
        guard !demandsManyIterations(first) else { return }
        let binding: ChannelBinding = kind & 2 == 0 ? .none : .tlsExporter(secret)
        var client: SCRAMClient?
        do throws(SCRAMError) {
            client = try SCRAMClient(userName: "ada", password: password, nonce: nonce, channelBinding: binding)
            _ = client?.start()
            let answer = try client?.receive(serverFirst: first)
            hold((answer?.count ?? 0) <= 4096, "an answer is too long")
            hold(client?.expectedServerFinal != final, "a forged server is accepted")
            try client?.receive(serverFinal: final)
            hold(false, "a forged server is accepted")
        } catch {
            hold(!"\(error)".isEmpty && client?.isFinished != true, "a failed exchange is finished")
        }
    }

    private static func demandsManyIterations(_ message: [UInt8]) -> Bool {
        message.split(separator: UInt8(ascii: ",")).contains { $0.starts(with: Array("i=".utf8)) && $0.count > 6 }
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
