// swift-tools-version: 6.2
import PackageDescription

/// The name of the library's package for the compiler, which SwiftPM derives from its folder. The targets compile as a
/// part of that package, because the engines are `package`.
let folder = Context.packageDirectory.split(separator: "/").dropLast().last ?? ""
let library = String(
    folder.lowercased().enumerated().map { $1.isLetter || $0 > 0 && $1.isNumber ? $1 : "_" })

let settings: [SwiftSetting] = [
    .unsafeFlags(["-package-name", library]),
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
    dependencies: [.package(name: "martlet", path: ".."), .package(name: "martlet-dev", path: "../Dev")],
    targets: [
        .target(
            name: "FuzzTargets",
            dependencies: [
                .product(name: "MartletWire", package: "martlet"),
                .product(name: "MartletLink", package: "martlet"),
                .product(name: "MartletAuthentication", package: "martlet"),
                .product(name: "MartletHTTP", package: "martlet"),
                .product(name: "MartletWebSocket", package: "martlet"),
                .product(name: "MartletProxy", package: "martlet"),
                .product(name: "MartletRelay", package: "martlet"),
                .product(name: "MartletTelemetry", package: "martlet"),
                .product(name: "MartletTestKit", package: "martlet"),
                .product(name: "MartletTestSupport", package: "martlet"),
                .product(name: "MartletSimulator", package: "martlet-dev"),
                .product(name: "Martlet", package: "martlet"),
                .product(name: "MartletSQLite", package: "martlet"),
                .product(name: "MartletRelaySQLite", package: "martlet"),
                .product(name: "MartletTimeline", package: "martlet"),
            ],
            packageAccess: false, swiftSettings: settings),
        .target(name: "CLibFuzzer"),
        .executableTarget(
            name: "fuzz", dependencies: ["FuzzTargets", "CLibFuzzer"], packageAccess: false, swiftSettings: settings),
        .executableTarget(name: "replay", dependencies: ["FuzzTargets"], packageAccess: false, swiftSettings: settings),
    ],
    swiftLanguageModes: [.v6]
)
