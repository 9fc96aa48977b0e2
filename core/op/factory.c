#include "core/op/op.h"

const struct op op_factory[] = {
	{ 0 },
};
