import MartletToolSupport

/// The commands of `martlet`.
enum CommandTable {
    static let program = CommandLineProgram(
        name: "martlet", summary: "Messages between people and programs, over connections that may fail.",
        commands: [
            ServeCommand.spec, ChatCommandLine.spec, SendCommand.spec, ListenCommand.spec, BotCommand.spec,
            DevCertCommand.spec,
            DecodeCommand.spec,
        ])
}
