// swift-tools-version: 6.2
import PackageDescription

let settings: [SwiftSetting] = [
    .strictMemorySafety(),
    .treatAllWarnings(as: .error),
    .enableExperimentalFeature("Lifetimes"),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
]

let package = Package(
    name: "martlet-fuzz",
    platforms: [.macOS(.v15)],
    dependencies: [.package(name: "martlet", path: "..")],
    targets: [
        .target(
            name: "FuzzTargets",
            dependencies: [
                .product(name: "MartletWire", package: "martlet"),
                .product(name: "MartletProtocol", package: "martlet"),
                .product(name: "MartletAuthentication", package: "martlet"),
                .product(name: "MartletRelay", package: "martlet"),
                .product(name: "MartletTestKit", package: "martlet"),
                .product(name: "Martlet", package: "martlet"),
                .product(name: "MartletSQLite", package: "martlet"),
                .product(name: "MartletTimeline", package: "martlet"),
            ],
            swiftSettings: settings),
        .target(name: "CLibFuzzer"),
        .executableTarget(name: "fuzz", dependencies: ["FuzzTargets", "CLibFuzzer"], swiftSettings: settings),
        .executableTarget(name: "replay", dependencies: ["FuzzTargets"], swiftSettings: settings),
    ],
    swiftLanguageModes: [.v6]
)
