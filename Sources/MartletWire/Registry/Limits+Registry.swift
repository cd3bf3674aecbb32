// Generated from Specs/registry.json by Scripts/generate-registries. Do not edit.

extension Limits {
    /// The lowest permitted value of `maxBody`.
    static let leastMaxBody = 17_408
    /// The lowest permitted value of `maxMessage`.
    static let leastMaxMessage = 16_384
    /// The lowest permitted value of `linkWindow`.
    static let leastLinkWindow = 17_408
    /// The lowest permitted value of `sessionWindow`.
    static let leastSessionWindow = 17_408
    /// The lowest permitted value of `maxSessions`.
    static let leastMaxSessions = 1
}
