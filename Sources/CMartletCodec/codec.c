#include "CMartletCodec.h"
