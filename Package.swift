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

#if os(Linux)
    // The tests compile the backend of Network.framework with a stand-in for the framework, which is in no product.
    let transportExclusions = ["Network"]
    let networkTargets: [Target] = [
        .target(name: "MartletNetworkStandIn", path: "Tests/MartletNetworkStandIn", swiftSettings: settings),
        .target(
            name: "MartletNetworkTransport",
            dependencies: ["MartletNetworkStandIn", "MartletTransport", "MartletWire", "CMartletCrypto"],
            path: "Sources/MartletTransport/Network",
            swiftSettings: settings + [.define("MARTLET_NETWORK_STAND_IN")]),
        .testTarget(
            name: "MartletNetworkTests",
            dependencies: [
                "MartletNetworkTransport", "MartletNetworkStandIn", "MartletTransport", "MartletToolTestSupport",
            ],
            swiftSettings: settings),
    ]
#else
    let transportExclusions: [String] = []
    let networkTargets: [Target] = []
#endif

let package = Package(
    name: "martlet",
    platforms: [.macOS(.v15), .iOS(.v18)],
    products: [
        .library(name: "Martlet", targets: ["Martlet"]),
        .library(name: "MartletRelay", targets: ["MartletRelay"]),
        .library(name: "MartletSQLite", targets: ["MartletSQLite"]),
        .library(name: "MartletRelaySQLite", targets: ["MartletRelaySQLite"]),
        .library(name: "MartletPostgres", targets: ["MartletPostgres"]),
        .library(name: "MartletNATS", targets: ["MartletNATS"]),
        .library(name: "MartletTimeline", targets: ["MartletTimeline"]),
        .library(name: "MartletObservation", targets: ["MartletObservation"]),
        .library(name: "MartletAdmin", targets: ["MartletAdmin"]),
        .library(name: "MartletWebhook", targets: ["MartletWebhook"]),
        .library(name: "MartletTelemetry", targets: ["MartletTelemetry"]),
        .library(name: "MartletS3", targets: ["MartletS3"]),
        .library(name: "MartletAuthentication", targets: ["MartletAuthentication"]),
        .library(name: "MartletLink", targets: ["MartletLink"]),
        .library(name: "MartletWire", targets: ["MartletWire"]),
        .library(name: "MartletDecode", targets: ["MartletDecode"]),
        .library(name: "MartletTestKit", targets: ["MartletTestKit"]),
        .executable(name: "martlet", targets: ["MartletTool"]),
        // For the packages of developers, Dev and Fuzz. All that they declare is `package`.
        .library(name: "MartletMetrics", targets: ["MartletMetrics"]),
        .library(name: "MartletHTTP", targets: ["MartletHTTP"]),
        .library(name: "MartletWebSocket", targets: ["MartletWebSocket"]),
        .library(name: "MartletProxy", targets: ["MartletProxy"]),
        .library(name: "MartletToolSupport", targets: ["MartletToolSupport"]),
        .library(name: "MartletTestSupport", targets: ["MartletTestSupport"]),
        .library(name: "MartletToolTestSupport", targets: ["MartletToolTestSupport"]),
    ],
    traits: [
        .default(enabledTraits: ["Foundation"]),
        .trait(name: "Foundation", description: "Dates and localized errors of Foundation, which enlarge a program."),
    ],
    targets: [
        .target(
            name: "CMartletCodec",
            linkerSettings: [.linkedLibrary("z"), .linkedLibrary("deflate", .when(platforms: [.linux]))]),
        .target(
            name: "CMartletCrypto", linkerSettings: [.linkedLibrary("crypto", .when(platforms: [.linux]))]),
        .target(name: "CMartletHTTP", linkerSettings: [.linkedLibrary("curl")]),
        .target(name: "CMartletSystem"),
        .target(
            name: "CMartletTLS",
            linkerSettings: [
                .linkedLibrary("ssl", .when(platforms: [.linux])), .linkedLibrary("crypto", .when(platforms: [.linux])),
            ]),
        .systemLibrary(name: "CMartletPostgres", providers: [.apt(["libpq-dev"]), .brew(["libpq"])]),
        .systemLibrary(name: "CMartletNATS", providers: [.apt(["libnats-dev"]), .brew(["cnats"])]),
        .systemLibrary(name: "CMartletPcap", providers: [.apt(["libpcap-dev"])]),
        .systemLibrary(name: "CMartletSQLite", providers: [.apt(["libsqlite3-dev"])]),
        .target(name: "MartletWire", dependencies: ["CMartletCodec"], swiftSettings: settings),
        .target(name: "MartletMetrics", swiftSettings: settings),
        .target(name: "MartletHTTP", dependencies: ["MartletTransport", "MartletWire"], swiftSettings: settings),
        .target(
            name: "MartletWebSocket",
            dependencies: [
                "MartletWire", "MartletTransport", "MartletHTTP", "MartletAuthentication", "CMartletCrypto",
            ],
            swiftSettings: settings),
        .target(
            name: "MartletProxy",
            dependencies: [
                "MartletWire", "MartletTransport", "MartletHTTP", "MartletAuthentication", "CMartletCrypto",
            ],
            swiftSettings: settings),
        .target(
            name: "MartletLink",
            dependencies: [
                "MartletWire", "MartletMetrics", "MartletTransport", "MartletWebSocket", "MartletProxy",
                "MartletAuthentication",
            ],
            swiftSettings: settings),
        .target(
            name: "MartletTransport",
            dependencies: [
                "MartletWire", "CMartletSystem", "CMartletTLS",
                .target(name: "CMartletCrypto", condition: .when(platforms: [.macOS, .iOS])),
            ], exclude: transportExclusions, swiftSettings: settings),
        .target(
            name: "MartletTestKit",
            dependencies: ["Martlet", "MartletRelay", "MartletWire", "MartletLink", "MartletTransport"],
            swiftSettings: settings),
        .target(
            name: "Martlet",
            dependencies: [
                "MartletWire", "MartletMetrics", "MartletLink", "MartletTransport", "MartletAuthentication",
            ],
            swiftSettings: settings),
        .target(name: "MartletAuthentication", dependencies: ["CMartletCrypto"], swiftSettings: settings),
        .target(
            name: "MartletRelay",
            dependencies: [
                "MartletWire", "MartletMetrics", "MartletLink", "MartletTransport", "MartletWebSocket",
                "MartletAuthentication", "CMartletCrypto",
            ],
            swiftSettings: settings),
        .target(
            name: "MartletAdmin",
            dependencies: [
                "MartletRelay", "MartletHTTP", "MartletMetrics", "MartletAuthentication", "MartletLink",
                "MartletTransport", "MartletWire", "CMartletSystem",
            ], resources: [.embedInCode("Page/status.html")], swiftSettings: settings),
        .target(
            name: "MartletWebhook",
            dependencies: [
                "MartletRelay", "MartletAuthentication", "MartletTransport", "MartletLink", "MartletWire",
                "CMartletCrypto", "CMartletHTTP",
            ],
            swiftSettings: settings),
        .target(
            name: "MartletTelemetry",
            dependencies: [
                "MartletRelay", "MartletWebhook", "MartletAuthentication", "MartletTransport", "MartletWire",
            ],
            swiftSettings: settings),
        .target(
            name: "MartletS3",
            dependencies: [
                "MartletRelay", "MartletWebhook", "MartletAuthentication", "MartletTransport", "MartletLink",
                "MartletWire", "CMartletHTTP",
            ],
            swiftSettings: settings),
        .target(
            name: "MartletDatabase", dependencies: ["MartletTransport", "MartletWire", "CMartletSQLite"],
            swiftSettings: settings),
        .target(
            name: "MartletSQLite",
            dependencies: ["Martlet", "MartletDatabase", "MartletTransport", "MartletLink", "MartletWire"],
            swiftSettings: settings),
        .target(
            name: "MartletRelaySQLite",
            dependencies: [
                "MartletRelay", "MartletDatabase", "MartletTransport", "MartletLink", "MartletWire",
            ],
            swiftSettings: settings),
        .target(
            name: "MartletPostgres",
            dependencies: [
                "MartletRelay", "MartletAuthentication", "MartletTransport", "MartletLink", "MartletWire",
                "CMartletPostgres",
            ],
            swiftSettings: settings),
        .target(
            name: "MartletNATS", dependencies: ["MartletRelay", "MartletTransport", "CMartletNATS"],
            swiftSettings: settings),
        .target(
            name: "MartletTimeline",
            dependencies: [
                "Martlet", "MartletSQLite", "MartletDatabase", "MartletTransport", "MartletLink", "MartletWire",
            ],
            swiftSettings: settings),
        .target(
            name: "MartletObservation", dependencies: ["Martlet", "MartletTimeline"], swiftSettings: settings),
        .target(
            name: "MartletDecode",
            dependencies: ["MartletWire", "MartletTransport", "MartletWebSocket", "CMartletPcap"],
            swiftSettings: settings),
        .target(
            name: "MartletToolSupport",
            dependencies: ["MartletAuthentication", "MartletWire", "MartletTransport", "CMartletSystem"],
            swiftSettings: settings),
        .executableTarget(
            name: "MartletTool",
            dependencies: [
                "Martlet", "MartletRelay", "MartletSQLite", "MartletRelaySQLite", "MartletPostgres", "MartletNATS",
                "MartletDatabase",
                "MartletAuthentication", "MartletDecode", "MartletToolSupport", "MartletTransport", "MartletLink",
                "MartletWire", "MartletWebhook", "MartletWebSocket", "MartletTelemetry", "MartletS3", "MartletAdmin",
                "CMartletSystem",
            ],
            swiftSettings: settings),
        .target(
            name: "MartletToolTestSupport", dependencies: ["MartletDecode", "MartletToolSupport", "MartletTransport"],
            path: "Tests/Support", swiftSettings: settings),
        .testTarget(
            name: "MartletWireTests", dependencies: ["MartletWire", "MartletTestSupport"], swiftSettings: settings),
        .target(
            name: "MartletTestSupport", dependencies: ["MartletWire"], path: "Tests/MartletTestSupport",
            swiftSettings: settings),
        .testTarget(name: "MartletMetricsTests", dependencies: ["MartletMetrics"], swiftSettings: settings),
        .testTarget(
            name: "MartletHTTPTests", dependencies: ["MartletHTTP", "MartletWire", "MartletToolTestSupport"],
            swiftSettings: settings),
        .testTarget(
            name: "MartletWebSocketTests",
            dependencies: [
                "MartletWebSocket", "MartletHTTP", "MartletTransport", "MartletWire", "MartletTestSupport",
                "MartletToolTestSupport",
            ], swiftSettings: settings),
        .testTarget(
            name: "MartletProxyTests",
            dependencies: ["MartletProxy", "MartletTransport", "MartletWire", "MartletToolTestSupport"],
            swiftSettings: settings),
        .testTarget(
            name: "MartletLinkTests",
            dependencies: ["MartletLink", "MartletMetrics", "MartletTransport", "MartletTestSupport"],
            swiftSettings: settings),
        .target(
            name: "MartletTLSForge", dependencies: ["CMartletTLS"], path: "Tests/MartletTLSForge",
            linkerSettings: [.linkedLibrary("crypto", .when(platforms: [.linux]))]),
        .testTarget(
            name: "MartletTransportTests",
            dependencies: ["MartletTransport", "MartletWire", "MartletToolTestSupport", "MartletTLSForge"],
            swiftSettings: settings),
        .testTarget(
            name: "MartletAuthenticationTests", dependencies: ["MartletAuthentication"], swiftSettings: settings),
        .testTarget(
            name: "MartletTestKitTests", dependencies: ["MartletTestKit", "Martlet", "MartletRelay"],
            swiftSettings: settings),
        .target(
            name: "MartletStoreTestSupport",
            dependencies: [
                "MartletRelay", "MartletLink", "MartletWire", "MartletTestSupport", "MartletToolSupport",
            ],
            path: "Tests/MartletStoreTestSupport", swiftSettings: settings),
        .testTarget(
            name: "MartletRelayTests",
            dependencies: ["MartletRelay", "MartletStoreTestSupport", "MartletToolTestSupport"],
            swiftSettings: settings),
        .testTarget(
            name: "MartletPostgresTests",
            dependencies: [
                "MartletPostgres", "MartletNATS", "MartletRelaySQLite", "MartletRelay", "Martlet",
                "MartletStoreTestSupport",
            ], swiftSettings: settings),
        .testTarget(
            name: "MartletNATSTests", dependencies: ["MartletNATS", "MartletRelay", "MartletStoreTestSupport"],
            swiftSettings: settings),
        .testTarget(
            name: "MartletAdminTests",
            dependencies: [
                "MartletAdmin", "MartletRelay", "MartletHTTP", "MartletLink", "MartletMetrics", "MartletTransport",
                "MartletWire", "MartletToolTestSupport",
            ], swiftSettings: settings),
        .testTarget(
            name: "MartletWebhookTests", dependencies: ["MartletWebhook", "MartletRelay"], swiftSettings: settings),
        .testTarget(
            name: "MartletTelemetryTests",
            dependencies: [
                "MartletTelemetry", "MartletWebhook", "MartletRelay", "MartletTransport", "MartletWire",
            ], swiftSettings: settings),
        .testTarget(
            name: "MartletS3Tests",
            dependencies: [
                "MartletS3", "MartletWebhook", "MartletRelay", "MartletAuthentication", "MartletTransport",
                "MartletWire",
            ], swiftSettings: settings),
        .testTarget(
            name: "MartletTests",
            dependencies: ["Martlet", "MartletRelay", "MartletTestKit", "MartletToolTestSupport"],
            swiftSettings: settings),
        .target(name: "MartletFaultVFS", path: "Tests/MartletFaultVFS", linkerSettings: [.linkedLibrary("sqlite3")]),
        .testTarget(
            name: "MartletSQLiteTests",
            dependencies: [
                "MartletSQLite", "MartletRelaySQLite", "MartletFaultVFS", "MartletTestSupport",
                "MartletStoreTestSupport",
            ],
            swiftSettings: settings),
        .target(name: "MartletFaultDisk", path: "Tests/MartletFaultDisk"),
        .testTarget(
            name: "MartletStorageTests",
            dependencies: [
                "MartletTimeline", "MartletSQLite", "MartletRelaySQLite", "MartletRelay", "Martlet", "MartletFaultDisk",
            ],
            swiftSettings: settings),
        .testTarget(
            name: "MartletTimelineTests",
            dependencies: ["MartletTimeline", "MartletRelay", "MartletTestKit", "MartletTestSupport"],
            swiftSettings: settings),
        .testTarget(
            name: "MartletObservationTests",
            dependencies: ["MartletObservation", "MartletRelay"], swiftSettings: settings),
        .testTarget(
            name: "MartletDecodeTests",
            dependencies: ["MartletDecode", "MartletToolTestSupport", "MartletWebSocket"], swiftSettings: settings),
        .testTarget(
            name: "MartletToolSupportTests", dependencies: ["MartletToolSupport"], swiftSettings: settings),
        .testTarget(
            name: "MartletToolTests", dependencies: ["MartletTool", "MartletToolTestSupport"],
            swiftSettings: settings),
        .testTarget(name: "RepositoryTests", swiftSettings: settings),
    ],
    swiftLanguageModes: [.v6]
)

package.targets += networkTargets

// `make check` builds the tests of the changed modules only, into a program of their own.
if let names = Context.environment["MARTLET_CHECK"]?.split(separator: " ") {
    package.name = "martlet-check"
    package.targets.removeAll { $0.type == .test && !names.contains($0.name[...]) }
}
