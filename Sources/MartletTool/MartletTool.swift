@main
struct MartletTool {
    static func main() {}
}
