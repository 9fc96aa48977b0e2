#include "core/op/op.h"

const struct op op_custom[] = {
	{ 0 },
};
