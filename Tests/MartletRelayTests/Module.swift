// MartletRelayTests
