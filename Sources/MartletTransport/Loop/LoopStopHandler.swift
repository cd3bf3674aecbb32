/// An object that ends with its loop; see ``EventLoop/add(_:)``.
package protocol LoopStopHandler: AnyObject {
    /// The loop is shutting down. Armed timers no longer fire, and no source can be registered.
    func loopWillStop()
}
