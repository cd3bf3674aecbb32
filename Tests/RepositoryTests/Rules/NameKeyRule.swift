/// A name of a room, an account or a device is not a `String`, whose `==` and hash treat canonically equivalent texts
/// as one: `RoomName` and `AccountName` compare bytes (W-31).
///
/// The rule refuses dictionaries and sets of `String`, and properties with the word of such a name, in the modules that
/// applications link and in the tool.
enum NameKeyRule {
    /// The modules of development tools, whose texts come from their own user.
    private static let exempt: Set<String> = [
        "MartletDecode", "MartletDifferential", "MartletLab", "MartletToolSupport",
    ]

    /// The permitted lines, by the end of the file's path, with their reasons.
    private static let permitted: [String: String] = [
        "Address/LookupTable.swift": "host names are ASCII",
        "Terminal/Key.swift": "constants of the program",
        "Process/RelayLog.swift": "constants of the program",
        "Metrics/ClientMetrics.swift": "keys of failures, constants of the program",
        "Client/ConnectionMetrics.swift": "keys of failures, constants of the program",
        "MartletAdmin/SampleEvents.swift": "names of metrics, constants of the program",
        "Client/LogEvent.swift": "a text for a log",
        "Connection/PathStatus.swift": "the texts are IP addresses",
        "Errors/MartletError.swift": "a text for people",
        "MartletS3/S3Names.swift": "hashes in hexadecimal",
        "MartletS3/S3Sweep.swift": "random numbers in hexadecimal",
        "Martlet/Credentials.swift": "the argument of a person, which a client converts",
        "Coding/ContentValueDecoder.swift": "the type in an error",
        "MartletLink/Server/Identity.swift": "claims, which are compared byte by byte",
        "Simulation/RequestLedger.swift": "texts that a simulation makes",
        "Invariants/Ledger.swift": "texts that a simulation makes",
        "Lives/LifeTimeline.swift": "texts that a simulation makes",
        "Lives/LifeTimelineCheck.swift": "texts that a simulation makes",
        "Simulation/Scenario.swift": "the account of a simulated device, which a simulation makes",
        "TLS/TLSClient.swift": "host names are ASCII",
        "Tokens/TokenClaims.swift": "the names in a token, unique by their bytes",
        "World/TestDevice.swift": "the argument of a test, which a client converts",
    ]

    private static let keys = ["[String:", "[String :", "Set<String>", "Dictionary<String"]
    private static let words = ["room", "account", "device", "sender", "recipient", "inviter", "member", "owner"]
    private static let properties = words.flatMap { word in
        ["let \(word): String", "var \(word): String", "let \(word)Name: String", "var \(word)Name: String"]
    }

    static func findings(in file: SourceFile) -> [Finding] {
        guard file.isSwift, let module = file.module(under: "Sources"), !exempt.contains(module),
            !permitted.keys.contains(where: { file.path.hasSuffix("/" + $0) })
        else { return [] }
        let present = file.present(keys + properties)
        guard !present.isEmpty else { return [] }
        return file.findings { code in
            present.first { code.contains($0) }.map { "\($0) compares canonical equivalence; use a type of name" }
        }
    }

    /// The permitted files that the tree does not contain, or that no longer need the permission.
    static func findings(ofPermissionsIn tree: SourceTree) -> [Finding] {
        permitted.keys.sorted().compactMap { end in
            let isNeeded = tree.swiftFiles.contains { file in
                file.path.hasSuffix("/" + end) && !file.present(keys + properties).isEmpty
            }
            return isNeeded ? nil : Finding("Sources", "\(end) is permitted without a need")
        }
    }
}
