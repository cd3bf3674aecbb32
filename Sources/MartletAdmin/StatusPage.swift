import MartletHTTP

/// The status page, which has no other files.
enum StatusPage {
    /// The page permits its own script and style only, and no requests to other hosts.
    private static let policy =
        "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; connect-src 'self'; img-src data:; "
        + "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

    static let response = HTTPResponse(
        .ok,
        [
            HTTPField("content-type", "text/html; charset=utf-8"), HTTPField("content-security-policy", policy),
            HTTPField("x-content-type-options", "nosniff"), HTTPField("referrer-policy", "no-referrer"),
            HTTPField("cache-control", "no-cache"),
        ], body: PackageResources.status_html)
}
