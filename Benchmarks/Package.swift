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
    name: "martlet-benchmarks",
    platforms: [.macOS(.v15)],
    dependencies: [.package(name: "martlet", path: "..")],
    targets: [
        .target(
            name: "CBaselines",
            linkerSettings: [
                .linkedLibrary("deflate"), .linkedLibrary("z"), .linkedLibrary("dl"), .linkedLibrary("sqlite3"),
            ]),
        .target(name: "BenchHarness", dependencies: ["CBaselines"], swiftSettings: settings),
        .executableTarget(
            name: "bench",
            dependencies: [
                "BenchHarness", "CBaselines",
                .product(name: "Martlet", package: "martlet"),
                .product(name: "MartletRelay", package: "martlet"),
                .product(name: "MartletSQLite", package: "martlet"),
                .product(name: "MartletTimeline", package: "martlet"),
                .product(name: "MartletObservation", package: "martlet"),
                .product(name: "MartletWire", package: "martlet"),
                .product(name: "MartletProtocol", package: "martlet"),
                .product(name: "MartletTestKit", package: "martlet"),
            ],
            swiftSettings: settings),
        .testTarget(name: "BenchHarnessTests", dependencies: ["BenchHarness"], swiftSettings: settings),
    ],
    swiftLanguageModes: [.v6]
)
