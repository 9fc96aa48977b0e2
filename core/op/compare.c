#include "core/op/op.h"

const struct op op_compare[] = {
	{ 0 },
};
