#include "core/op/op.h"

const struct op op_quant[] = {
	{ 0 },
};
