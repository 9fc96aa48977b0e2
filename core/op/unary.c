#include "core/op/op.h"

const struct op op_unary[] = {
	{ 0 },
};
