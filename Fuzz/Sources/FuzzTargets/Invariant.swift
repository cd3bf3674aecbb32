/// Stops the process when an invariant is violated, which libFuzzer and a replay report.
///
/// The message of `precondition` is lost in a release build.
func hold(_ condition: Bool, _ invariant: @autoclosure () -> String) {
    if !condition { fatalError(invariant()) }
}
