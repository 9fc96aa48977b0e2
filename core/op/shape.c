#include "core/op/op.h"

const struct op op_shape[] = {
	{ 0 },
};
