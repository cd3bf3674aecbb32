// MartletTransportTests
