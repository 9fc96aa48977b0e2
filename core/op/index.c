#include "core/op/op.h"

const struct op op_index[] = {
	{ 0 },
};
