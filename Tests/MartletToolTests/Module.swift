// MartletToolTests
