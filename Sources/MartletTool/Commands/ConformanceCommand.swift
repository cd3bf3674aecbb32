import MartletToolSupport

/// `martlet conformance`: runs the conformance kit, a program in Python that is installed beside this one.
enum ConformanceCommand {
    private static let texts = [
        Option.text("relay", "HOST:PORT", help: "judge the relay at this address or URL"),
        Option.text("client", "COMMAND", help: "judge this client; {host} and {port} in COMMAND are replaced"),
        Option.text(
            "account", "NAME:TOKEN", help: "an account of the relay, given twice [ada:open-sesame and bob:swordfish]"
        ).repeating,
        Option.text("ca", "FILE", help: "with --tls: trust the certificates in FILE").acceptingAnyBytes,
        Option.text("room", "PREFIX", help: "prefix of the names of rooms, which have to be new [at random]"),
        Option.text("only", "TEXT", help: "play the cases whose name begins with TEXT, or that judge this clause")
            .repeating,
        Option.text("timeout", "S", help: "deadline of each step, in seconds [5]"),
        Option.text("slack", "S", help: "seconds added to the 25 ms within which frames are acknowledged [0.25]"),
        Option.text("jobs", "N", help: "number of cases that are played at a time [8]"),
        Option.text("json", "FILE", help: "write a report in JSON to FILE").acceptingAnyBytes,
        Option.text("junit", "FILE", help: "write a report of JUnit to FILE").acceptingAnyBytes,
    ]
    private static let flags = [
        Option.flag("tls", help: "connect to the relay by TLS"),
        Option.flag("files", help: "the relay has files for browsers (C-131)"),
        Option.flag("verbose", help: "report passed cases too"),
        Option.flag("list", help: "list the cases, and the clauses that none judges"),
    ]

    static let spec = CommandSpec(
        name: "conformance",
        summary: "Judge a relay or a client against the specification, clause by clause.",
        options: texts.map(\.spec) + flags.map(\.spec),
        notes: [
            """
            The command runs a program in Python (3.11 or later), which is independent of this one. \
            Specs/conformance/README.md specifies what it requires of a client.
            """
        ],
        exitCodes: [
            ExitMeaning(.success, "all cases have passed or do not apply"), ExitMeaning(.failure, "a case has failed"),
            ExitMeaning(.noInput, "the program in Python is not installed"),
            ExitMeaning(.unavailable, "Python is missing, or the environment has prevented a case"),
            ExitMeaning(.inputOutput, "a report cannot be written"),
        ]
    ) { arguments in
        let own = unsafe realpath("/proc/self/exe", nil) ?? realpath(CommandLine.arguments[0], nil)
        defer { unsafe free(own) }
        throw run(words(arguments), kit: kit(of: unsafe own.map { unsafe String(cString: $0) } ?? ""))
    }

    /// The path of the kit that belongs to an installed program.
    static func kit(of program: String) -> String {
        program.split(separator: "/").dropLast(2).map { "/\($0)" }.joined() + "/share/martlet/martlet-conformance.pyz"
    }

    /// The command line of the kit.
    static func words(_ arguments: ParsedArguments) -> [String] {
        texts.flatMap { option in arguments.all(option).flatMap { ["--\(option.spec.name)", $0] } }
            + flags.filter(arguments.has).map { "--\($0.spec.name)" }
    }

    /// Replaces the process by the kit. Returns if this is not possible.
    static func run(_ words: [String], kit: String) -> CommandError {
        guard unsafe access(kit, R_OK) == 0 else {
            var error = CommandError.system(.noInput, "cannot read \(kit)")
            error.message += "\n'make build' and 'make install' make it, and 'Scripts/build-conformance \(kit)'."
            return error
        }
        var pointers = unsafe (["python3", kit] + words).map { unsafe strdup($0) } + [nil]
        unsafe execvp("python3", &pointers)
        return .system(.unavailable, "cannot run python3")
    }
}
