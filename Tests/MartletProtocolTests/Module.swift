// MartletProtocolTests
