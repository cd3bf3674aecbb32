import MartletToolSupport

/// `martlet`: the commands of users and programs.
@main
struct MartletTool {
    static func main() { CommandTable.program.main() }
}
