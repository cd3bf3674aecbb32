import MartletToolSupport

/// `martlet`: the commands of users and programs.
@main
struct MartletTool {
    static let program = CommandLineProgram(
        name: "martlet", summary: "Messages between people and programs, over connections that may fail.",
        commands: [
            ServeCommand.spec, ChatCommandLine.spec, SendCommand.spec, ListenCommand.spec, HistoryCommand.spec,
            RoomsCommand.spec, CardCommand.spec, CardsCommand.spec, ModerateCommand.spec, AdminCommand.spec,
            ClusterCommand.spec, FetchCommand.spec, OutboxCommand.spec, BotCommand.spec, RecordCommand.spec,
            UserCommand.spec, StoreCommand.spec, DevCertCommand.spec, DecodeCommand.spec, ReplayCommand.spec,
            DoctorCommand.spec, ConformanceCommand.spec, ReferenceCommands.manual, ReferenceCommands.completions,
        ])

    static func main() { program.main() }
}
