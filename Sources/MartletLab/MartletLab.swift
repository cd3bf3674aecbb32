import MartletToolSupport

/// `martlet-lab`: the commands that test and measure Martlet.
@main
struct MartletLab {
    static func main() { CommandTable.program.main() }
}
