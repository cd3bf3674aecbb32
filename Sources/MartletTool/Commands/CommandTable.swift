/// All subcommands, in the order in which help lists them.
enum CommandTable {
    static let commands: [CommandSpec] = [
        ServeCommand.spec, ChatCommandLine.spec, SendCommand.spec, ListenCommand.spec, BotCommand.spec,
        WeaknetCommand.spec, DemoCommand.spec, SimulateCommand.spec, StormCommand.spec, SoakCommand.spec,
        DecodeCommand.spec,
    ]

    /// The command of that name.
    static func command(named name: String) -> CommandSpec? { commands.first { $0.name == name } }

    /// The version of the package; the changelog and the README name the same.
    static let version = "0.1.0"
    /// The program and its version, which `--version` prints and clients give as their agent.
    static let program = "martlet \(version)"
}
