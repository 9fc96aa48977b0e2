#include "core/op/op.h"

const struct op op_pool[] = {
	{ 0 },
};
