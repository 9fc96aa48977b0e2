#include "core/op/op.h"

const struct op op_binary[] = {
	{ 0 },
};
