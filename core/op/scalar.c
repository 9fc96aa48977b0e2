#include "core/op/op.h"

const struct op op_scalar[] = {
	{ 0 },
};
