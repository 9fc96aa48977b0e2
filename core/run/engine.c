#include "core/run/exec.h"

const char *const engine_names[ENGINES] = { "filed", "portable", "xnnpack" };
