/// What has to end when its loop is shut down; see ``EventLoop/add(_:)``.
public protocol LoopStopHandler: AnyObject {
    /// The loop is being shut down: timers that are set will not fire, and nothing is opened any more.
    func loopWillStop()
}
