import MartletToolSupport

/// `martlet-lab`: the commands that test and measure Martlet.
@main
struct MartletLab {
    static let program = CommandLineProgram(
        name: "martlet-lab", summary: "Tests of Martlet with faulty networks, simulated or between real processes.",
        commands: [
            DemoCommand.spec, WeaknetCommand.spec, SimulateCommand.spec, LivesCommand.spec, ReconnectCommand.spec,
            StormCommand.spec, SoakCommand.spec, DifferentialCommand.spec,
        ])

    static func main() { program.main() }
}
