import Foundation

/// The options of the command line.
struct Options {
    var suites: [String] = []
    var filter: String?
    var isListing = false
    var rounds: Int?
    var json: String?
    var report: String?
    var thresholds: String?
    var compared: (String, String)?
    var countsInstructions = false
    var isVerbose = false
    /// Whether the suites with sockets have cases with TLS, too.
    var includesTLS = false
    /// Whether the client of a load process has a flight recorder.
    var hasRecorder = true
    /// The folder of the files of `martlet dev-cert`, for a relay in another process.
    var certificates = ""
    var tool = "../.build/release/martlet"
    var baselines = "Baselines/.build"
    /// The port of the server, for a load in another process.
    var port: Int?
    var seconds = 3.0
    var counted: String?

    struct Failure: Error, CustomStringConvertible {
        var description: String
    }

    init(_ arguments: [String]) throws {
        var rest = arguments[...]
        func value(_ name: String) throws -> String {
            guard let value = rest.popFirst() else { throw Failure(description: "\(name) wants a value") }
            return value
        }
        while let argument = rest.popFirst() {
            switch argument {
            case "--filter": filter = try value(argument)
            case "--list": isListing = true
            case "--rounds": rounds = Int(try value(argument))
            case "--json": json = try value(argument)
            case "--report": report = try value(argument)
            case "--thresholds": thresholds = try value(argument)
            case "--compare": compared = (try value(argument), try value(argument))
            case "--instructions": countsInstructions = true
            case "--verbose": isVerbose = true
            case "--tls": includesTLS = true
            case "--no-recorder": hasRecorder = false
            case "--certificates": certificates = try value(argument)
            case "--tool": tool = try value(argument)
            case "--baselines": baselines = try value(argument)
            case "--port": port = Int(try value(argument))
            case "--seconds": seconds = Double(try value(argument)) ?? seconds
            case "--counted": counted = try value(argument)
            case "--help":
                print(Self.help)
                exit(0)
            case let name where !name.hasPrefix("-"): suites.append(name)
            default: throw Failure(description: "there is no option \(argument)\n\(Self.help)")
            }
        }
    }

    static let help = """
        usage: bench [SUITE...] [--filter TEXT] [--list] [--rounds N] [--json FILE] [--report FILE] [--tls]
                     [--thresholds FILE] [--instructions] [--verbose] [--compare BEFORE.json AFTER.json]

        Suites: frames, message, deflate, timers, engine, growth, client, outbox, relay, bytes; store, timeline,
        observation; and with other servers: peers, durable, idle, chat, handshakes; and of WebSockets: websocket.
        Without any, all but the latter nine. With --tls, peers, idle and chat have cases with TLS, too. Fails when a
        threshold is not met.
        """
}
