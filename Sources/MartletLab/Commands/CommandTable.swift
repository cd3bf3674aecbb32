import MartletToolSupport

/// The commands of `martlet-lab`.
enum CommandTable {
    static let program = CommandLineProgram(
        name: "martlet-lab", summary: "Tests of Martlet with faulty networks, simulated or between real processes.",
        commands: [
            DemoCommand.spec, WeaknetCommand.spec, SimulateCommand.spec, StormCommand.spec, SoakCommand.spec,
            DifferentialCommand.spec,
        ])
}
