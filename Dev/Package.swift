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

func products(_ names: String...) -> [Target.Dependency] {
    names.map { .product(name: $0, package: "martlet") }
}

let package = Package(
    name: "martlet-dev",
    platforms: [.macOS(.v15)],
    products: [
        .library(name: "MartletSimulator", targets: ["MartletSimulator"]),
        .executable(name: "martlet-lab", targets: ["MartletLab"]),
    ],
    traits: [
        .default(enabledTraits: ["Foundation"]),
        .trait(name: "Foundation", description: "The trait of the library."),
    ],
    dependencies: [
        .package(
            name: "martlet", path: "..", traits: [.trait(name: "Foundation", condition: .when(traits: ["Foundation"]))])
    ],
    targets: [
        .target(
            name: "MartletSimulator", dependencies: products("Martlet", "MartletRelay", "MartletTestKit"),
            packageAccess: false, swiftSettings: settings),
        .target(
            name: "MartletDifferential", dependencies: products("MartletWire", "MartletTestSupport"),
            packageAccess: false,
            swiftSettings: settings),
        .executableTarget(
            name: "MartletLab",
            dependencies: products(
                "Martlet", "MartletRelay", "MartletSQLite", "MartletRelaySQLite", "MartletTimeline", "MartletDecode",
                "MartletToolSupport") + ["MartletSimulator", "MartletDifferential"],
            packageAccess: false, swiftSettings: settings),
        .testTarget(
            name: "MartletSimulatorTests", dependencies: ["MartletSimulator"], packageAccess: false,
            swiftSettings: settings),
        .testTarget(
            name: "MartletEngineTests",
            dependencies: products("MartletMetrics", "MartletTestSupport")
                + ["MartletSimulator", "MartletDifferential"],
            packageAccess: false, swiftSettings: settings),
        .testTarget(
            name: "MartletDifferentialTests",
            dependencies: products("MartletDecode", "MartletToolTestSupport")
                + ["MartletDifferential"],
            packageAccess: false, swiftSettings: settings),
        .testTarget(
            name: "MartletLabTests", dependencies: products("MartletToolTestSupport") + ["MartletLab"],
            packageAccess: false, swiftSettings: settings),
        .testTarget(
            name: "MartletProgramTests", dependencies: products("MartletToolTestSupport") + ["MartletLab"],
            packageAccess: false, swiftSettings: settings),
    ],
    swiftLanguageModes: [.v6]
)

// `make check` builds the tests of the changed modules only, into a program of their own.
if let names = Context.environment["MARTLET_CHECK"]?.split(separator: " ") {
    package.name = "martlet-dev-check"
    package.targets.removeAll { $0.type == .test && !names.contains($0.name[...]) }
}
