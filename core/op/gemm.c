#include "core/op/op.h"

const struct op op_gemm[] = {
	{ 0 },
};
