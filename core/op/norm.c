#include "core/op/op.h"

const struct op op_norm[] = {
	{ 0 },
};
