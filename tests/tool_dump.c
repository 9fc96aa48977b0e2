/* tool_dump - the graphs of a program, as graph_print writes them: tool_dump MODEL.pte [DATA.ptd]...
 * Exit 1 when the program cannot be opened or a graph breaks an invariant. */
#include "core/program/program.h"

#include <stdio.h>

int main(int argc, char **argv)
{
	struct error err = { 0 };
	struct program *p;
	int bad = 0;

	if (argc < 2 || !program_open(&p, argv[1], (const char *const *)argv + 2, argc - 2, &err)) {
		fprintf(stderr, "%s\n", argc < 2 ? "usage: tool_dump MODEL.pte [DATA.ptd]..." : err.text);
		return 1;
	}
	for (int i = 0; i < p->nmethods; i++) {
		struct str s = { 0 };

		graph_print(p->method[i], &s);
		fputs(str_text(&s), stdout);
		if (p->method[i]->rigid)
			printf("  rigid: %s\n", p->method[i]->rigid_why);
		if (!graph_check(p->method[i], &err)) {
			printf("  broken: %s\n", err.text);
			bad = 1;
		}
		str_free(&s);
	}
	program_close(p);
	return bad;
}
