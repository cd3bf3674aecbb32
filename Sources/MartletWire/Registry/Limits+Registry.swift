// Generated from Specs/registry.json by Scripts/generate-registries. Do not edit.

extension Limits {
    /// The least that a side may offer as `maxBody`.
    static let leastMaxBody = 17_408
    /// The least that a side may offer as `maxMessage`.
    static let leastMaxMessage = 16_384
    /// The least that a side may offer as `linkWindow`.
    static let leastLinkWindow = 17_408
    /// The least that a side may offer as `sessionWindow`.
    static let leastSessionWindow = 17_408
    /// The least that a side may offer as `maxSessions`.
    static let leastMaxSessions = 1
}
