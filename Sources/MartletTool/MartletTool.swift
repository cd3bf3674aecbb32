import MartletToolSupport

/// `martlet`: the commands for people and programs that use a relay.
@main
struct MartletTool {
    static func main() { CommandTable.program.main() }
}
