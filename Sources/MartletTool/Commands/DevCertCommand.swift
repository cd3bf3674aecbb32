import MartletToolSupport
import MartletTransport
import MartletWire

/// `martlet dev-cert`: certificates for development.
enum DevCertCommand {
    private static let directory = Option.text(
        "directory", short: "d", "DIR", fallback: "martlet-certs", help: "the directory for the files")
    private static let host = Option.text(
        "host", "NAME", help: "a name or address of the server, in addition to localhost and the loopback addresses"
    ).repeating
    private static let client = Option.text(
        "client", "NAME", fallback: "client", help: "the account of the client's certificate")

    static let spec = CommandSpec(
        name: "dev-cert",
        summary: "Make a certificate authority, and certificates for a server and a client.",
        options: [directory.spec, host.spec, client.spec],
        notes: [
            """
            The certificates are for development and tests. The authority and its key are kept from one run to the \
            next; the other files are replaced. The certificates are valid for 398 days, the authority for 3650.
            """,
            """
            With the option --client-ca ca.pem of serve, a client signs in with --certificate client.pem, \
            --key client.key and the account of --client.
            """,
        ],
        exitCodes: [
            ExitMeaning(.success, "the files are written; standard output contains the commands that use them"),
            ExitMeaning(.cannotCreate, "a file cannot be written"),
        ]
    ) { try run($0) }

    /// The maximum number of bytes of a common name (RFC 5280, ub-common-name).
    private static let maxNameByteCount = 64
    /// The validity of the authority, in days. Later runs use the authority, whose certificates end with it.
    private static let authorityDayCount: Int64 = 3650

    static func run(_ arguments: ParsedArguments) throws -> ExitCode {
        let account = arguments[client] ?? ""
        guard AccountName(account) != nil, account.utf8.count <= maxNameByteCount else {
            throw UsageError(
                message: "'--client' is a valid name of an account, of at most \(maxNameByteCount) bytes")
        }
        for host in arguments.all(host) where !isValid(host) {
            throw UsageError(message: "\"\(SafeText.line(host))\" is neither a host name nor an address")
        }
        let directory = try makeDirectory(arguments[directory] ?? "")
        let authority = identity("ca", in: directory)
        do {
            if unsafe access(authority.keyFile, F_OK) != 0 { try makeAuthority(authority) }
            var server = TLSCertificateRequest(commonName: "server")
            (server.issuer, server.usage) = (authority, .server)
            (server.hosts, server.addresses) = (["localhost"], ["127.0.0.1", "::1"])
            for host in arguments.all(host) {
                if IPAddress(host) == nil { server.hosts.append(host) } else { server.addresses.append(host) }
            }
            try server.make(identity("server", in: directory))
            var client = TLSCertificateRequest(commonName: account)
            (client.issuer, client.usage) = (authority, .client)
            try client.make(identity("client", in: directory))
        } catch {
            throw CommandError(.cannotCreate, "\(error)")
        }
        let path = SafeText.line(directory)
        try Output.print("martlet serve --certificate \(path)/server.pem --key \(path)/server.key --allow-all")
        try Output.print("martlet chat --to localhost --trust \(path)/ca.pem")
        return .success
    }

    /// Whether a text is an address, a host name, or a wildcard with one.
    private static func isValid(_ host: String) -> Bool {
        let name = host.hasPrefix("*.") ? String(host.dropFirst(2)) : host
        return IPAddress(host) != nil || (try? Endpoint(host: name)) != nil
    }

    /// Makes a directory and those that contain it, unless they exist. Returns its path without a slash at the end.
    private static func makeDirectory(_ text: String) throws(CommandError) -> String {
        var path = text.isEmpty ? "." : text
        while path.hasSuffix("/") { path.removeLast() }
        for index in path.indices where path[index] == "/" { _ = unsafe mkdir(String(path[..<index]), 0o777) }
        _ = unsafe mkdir(path, 0o777)
        guard unsafe access("\(path)/.", F_OK) == 0 else {
            throw CommandError(.cannotCreate, "cannot make the folder \(SafeText.line(path))")
        }
        return path
    }

    private static func makeAuthority(_ identity: TLSIdentity) throws(TLSError) {
        var request = TLSCertificateRequest(commonName: "Martlet development authority")
        request.isAuthority = true
        request.validity = request.validity.lowerBound..<(authorityDayCount * 86_400)
        try request.make(identity)
    }

    private static func identity(_ name: String, in directory: String) -> TLSIdentity {
        TLSIdentity(certificateFile: "\(directory)/\(name).pem", keyFile: "\(directory)/\(name).key")
    }
}
