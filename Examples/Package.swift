// swift-tools-version: 6.2
import PackageDescription

func products(_ names: String...) -> [Target.Dependency] {
    names.map { .product(name: $0, package: "martlet") }
}

let package = Package(
    name: "martlet-examples",
    platforms: [.macOS(.v15)],
    products: [
        .executable(name: "chat", targets: ["Chat"]),
        .executable(name: "tasks", targets: ["TaskList"]),
        .executable(name: "sum-bot", targets: ["SumBot"]),
        .executable(name: "status-board", targets: ["StatusBoard"]),
        .executable(name: "office-relay", targets: ["OfficeRelay"]),
        .executable(name: "swiftui-chat", targets: ["SwiftUIChat"]),
    ],
    dependencies: [.package(name: "martlet", path: "..")],
    targets: [
        .executableTarget(name: "Chat", dependencies: products("Martlet", "MartletSQLite")),
        .executableTarget(name: "TaskList", dependencies: products("Martlet", "MartletSQLite", "MartletTimeline")),
        .executableTarget(name: "SumBot", dependencies: products("Martlet", "MartletSQLite")),
        .executableTarget(name: "StatusBoard", dependencies: products("Martlet", "MartletObservation")),
        .executableTarget(
            name: "OfficeRelay", dependencies: products("MartletRelay", "MartletRelaySQLite", "MartletAdmin")),
        .executableTarget(
            name: "SwiftUIChat",
            dependencies: products("Martlet", "MartletSQLite", "MartletTimeline", "MartletObservation")),
        .testTarget(
            name: "SwiftUIChatTests", dependencies: ["SwiftUIChat"] + products("Martlet", "MartletRelay")),
    ],
    swiftLanguageModes: [.v6]
)
