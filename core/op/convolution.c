#include "core/op/op.h"

const struct op op_convolution[] = {
	{ 0 },
};
