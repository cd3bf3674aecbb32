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
    name: "martlet-benchmarks",
    platforms: [.macOS(.v15)],
    dependencies: [.package(name: "martlet", path: ".."), .package(name: "martlet-dev", path: "../Dev")],
    targets: [
        .target(
            name: "CBaselines",
            linkerSettings: [
                .linkedLibrary("deflate"), .linkedLibrary("z"), .linkedLibrary("dl"), .linkedLibrary("sqlite3"),
            ]),
        .target(name: "BenchHarness", dependencies: ["CBaselines"], packageAccess: false, swiftSettings: settings),
        .executableTarget(
            name: "bench",
            dependencies: [
                "BenchHarness", "CBaselines",
                .product(name: "Martlet", package: "martlet"),
                .product(name: "MartletRelay", package: "martlet"),
                .product(name: "MartletSQLite", package: "martlet"),
                .product(name: "MartletRelaySQLite", package: "martlet"),
                .product(name: "MartletTimeline", package: "martlet"),
                .product(name: "MartletObservation", package: "martlet"),
                .product(name: "MartletWire", package: "martlet"),
                .product(name: "MartletLink", package: "martlet"),
                .product(name: "MartletTestKit", package: "martlet"),
                .product(name: "MartletSimulator", package: "martlet-dev"),
            ],
            packageAccess: false, swiftSettings: settings),
        .target(
            name: "DatabaseRig",
            dependencies: [
                .product(name: "MartletPostgres", package: "martlet"),
                .product(name: "MartletWire", package: "martlet"),
            ],
            packageAccess: false, swiftSettings: settings),
        .executableTarget(
            name: "bench-cluster",
            dependencies: ["DatabaseRig", .product(name: "Martlet", package: "martlet")],
            packageAccess: false, swiftSettings: settings),
        .executableTarget(
            name: "bench-postgres",
            dependencies: [
                "DatabaseRig",
                .product(name: "MartletPostgres", package: "martlet"),
                .product(name: "MartletRelay", package: "martlet"),
                .product(name: "MartletLink", package: "martlet"), .product(name: "MartletWire", package: "martlet"),
            ],
            packageAccess: false, swiftSettings: settings),
        .testTarget(
            name: "BenchHarnessTests", dependencies: ["BenchHarness"], packageAccess: false, swiftSettings: settings),
    ],
    swiftLanguageModes: [.v6]
)
