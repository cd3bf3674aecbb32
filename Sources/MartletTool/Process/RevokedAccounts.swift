import MartletLink
import MartletRelay
import MartletToolSupport
import MartletWire

/// The accounts that a relay refuses, whatever their credentials: a file with an account on each line.
///
/// The file is UTF-8. Blanks around an account are ignored. A line without an account, or one that begins with #, has
/// no effect. An account between quotation marks is taken as it is: one that begins with # or with a blank needs them.
/// Any other line is an error, which names the file and the line.
struct RevokedAccounts: Equatable, Sendable {
    private(set) var names: Set<AccountName> = []

    /// No accounts.
    init() {}

    /// Reads a file. Throws an error about the first invalid line.
    init(path: String) throws(CommandError) {
        try self.init(parsing: InputFile.read(path, "the revoked accounts"), named: path)
    }

    /// The accounts in the bytes of the file `name`.
    init(parsing bytes: [UInt8], named name: String) throws(CommandError) {
        for (index, line) in bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).enumerated() {
            guard let line = String(validating: line, as: UTF8.self) else {
                throw CommandError(.noInput, "\(name):\(index + 1): invalid UTF-8")
            }
            let blanks: [Unicode.Scalar] = [" ", "\t", "\r"]
            let scalars = line.unicodeScalars
            let word = scalars.drop { blanks.contains($0) }
            guard let first = word.first, first != "#" else { continue }
            let end = word.lastIndex { !blanks.contains($0) }.map { word.index(after: $0) } ?? word.endIndex
            var text = word[..<end]
            if text.count > 2, text.first == "\"", text.last == "\"" { text = text.dropFirst().dropLast() }
            guard let account = AccountName(String(text)) else {
                throw CommandError(.noInput, "\(name):\(index + 1): an invalid account name")
            }
            names.insert(account)
        }
    }

    /// Returns an identity that is not revoked. The account is refused after its proof, so that a refusal reveals
    /// nothing to others (C-69).
    func admit(_ identity: Identity) throws(AuthenticationFailure) -> Identity {
        guard !names.contains(identity.account) else {
            throw AuthenticationFailure(Notice(code: .revoked), cause: "the account is revoked")
        }
        return identity
    }
}

/// An exchange that refuses revoked accounts at its end.
struct RevocableExchange: AuthenticationExchange {
    var exchange: any AuthenticationExchange
    /// Returns the accounts that are currently revoked.
    let revoked: @Sendable () -> RevokedAccounts

    mutating func step(_ message: [UInt8]) async throws -> AuthenticationStep {
        let step = try await exchange.step(message)
        if case .accepted(let identity, _) = step { _ = try revoked().admit(identity) }
        return step
    }
}
