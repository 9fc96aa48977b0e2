#include "core/op/op.h"

const struct op op_reduce[] = {
	{ 0 },
};
