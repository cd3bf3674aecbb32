/// Stops the process when an invariant does not hold: what libFuzzer and a replay take for a finding.
///
/// Not `precondition`, whose message is lost in a build for release.
func hold(_ condition: Bool, _ invariant: @autoclosure () -> String) {
    if !condition { fatalError(invariant()) }
}
