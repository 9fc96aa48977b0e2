/* tool_ops - prints the op table, one row a line: name, kernel, schema, arguments, flags; "-" for no kernel. */
#include "core/op/op.h"

#include <stdio.h>

int main(void)
{
	for (const struct op *const *f = op_families; *f; f++)
		for (const struct op *o = *f; o->name; o++)
			printf("%s\t%s\t%s\t%s\t%u\n", o->name, o->kernel_name ? o->kernel_name : "-", o->schema, o->args, o->flags);
	return 0;
}
