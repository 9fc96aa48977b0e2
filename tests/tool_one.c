/* tool_one - makes a program of one call, and inputs for it.
 *
 *   tool_one PREFIX aten::addmm.out 'f32[64]' 'f32[64,32]' 'f32[32,64]' 1 1 '>' 'f32[64,64]'
 *
 * writes PREFIX.pte and PREFIX0.npy, PREFIX1.npy, … with values from -1 to 1. Arguments stand in the order of the
 * kernel's schema, results behind '>': tensors by type and sizes, i64[9]<5 with numbers from 0 to 4; +f32[9] from 0.1
 * to 1.1; integers, numbers with a point, true, false, none, 'text'; (1,2) is a list of integers, {f32[2];f32[3]} one
 * of tensors, {?;f32[2]} one that could hold None. All tensor arguments are inputs. */
#include "core/format/npy.h"
#include "tests/maker.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct maker *maker;
static uint64_t offset, seed = 1;
static const char *prefix;

static int bad(const char *word)
{
	fprintf(stderr, "tool_one: cannot read %s\n", word);
	exit(2);
}

static double uniform(void)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (double)(seed >> 33) / 2147483648.0;
}

/* PREFIX<n>.npy for input number n. */
static void fill(const struct pte_tensor *x, int n, long limit, bool positive)
{
	void *data = malloc(x->bytes + 1);
	char *path = NULL;
	int64_t size[MAX_RANK];
	struct error err = { 0 };

	for (int d = 0; d < x->rank; d++)
		size[d] = x->size[d];
	for (size_t i = 0; i < x->bytes / dtype_bytes(x->dtype); i++)
		dtype_put(x->dtype, data, i, limit ? (double)(long)(uniform() * (double)limit) :
			  positive ? 0.1 + uniform() : dtype_is_float(x->dtype) ? uniform() * 2 - 1 : (double)(long)(uniform() * 100));
	if (asprintf(&path, "%s%d.npy", prefix, n) < 0 || !npy_write(path, x->dtype, x->rank, size, data, &err)) {
		fprintf(stderr, "tool_one: %s\n", err.text);
		exit(1);
	}
	free(path);
	free(data);
}

static int tensor(char *word, bool input)
{
	bool positive = *word == '+';
	char *at = strchr(word += positive, '[');
	int32_t size[MAX_RANK];
	int rank = 0, v = -1;

	for (int t = 0; at && v < 0 && t <= DTYPE_INT4; t++) {
		const char *name = dtype_name(t);

		if (strlen(name) != (size_t)(at - word) || strncmp(name, word, strlen(name)))
			continue;
		for (at++; *at && *at != ']' && rank < MAX_RANK; at += *at == ',')
			size[rank++] = (int32_t)strtol(at, &at, 10);
		if (*at != ']')
			bad(word);
		v = maker_planned(maker, t, 1, offset, rank, size);
		offset += (maker_tensor(maker, v)->bytes + 63) / 64 * 64;
	}
	if (v < 0)
		bad(word);
	if (input) {
		fill(maker_tensor(maker, v), maker->input.n, at[1] == '<' ? atol(at + 2) : 0, positive);
		maker_in(maker, v);
	}
	return v;
}

static int argument(char *word, bool input)
{
	int32_t list[64];
	int n = 0;
	char *end;

	if (!strcmp(word, "none"))
		return maker_none(maker);
	if (!strcmp(word, "true") || !strcmp(word, "false"))
		return maker_bool(maker, *word == 't');
	if (*word == '\'')
		return maker_string(maker, arena_printf(&maker->mem, "%.*s", (int)strlen(word) - 2, word + 1));
	if (*word == '(') {
		for (end = word + 1; *end && *end != ')' && n < 16; end += *end == ',')
			list[n++] = (int32_t)strtol(end, &end, 10);
		return maker_ints(maker, n, list);
	}
	if (*word == '{') {
		bool optional = false;

		for (char *t = strtok(word + 1, ";}"); t; t = strtok(NULL, ";}")) {
			if (*t == '?')
				optional = true;
			else
				list[n++] = tensor(t, input);
		}
		return maker_list(maker, optional ? PTE_OPTIONAL_TENSOR_LIST : PTE_TENSOR_LIST, n, list);
	}
	if (strchr(word, '['))
		return tensor(word, input);
	if (strchr(word, '.')) {
		double d = strtod(word, &end);

		return *end ? bad(word) : maker_double(maker, d);
	}
	long i = strtol(word, &end, 10);

	return *end ? bad(word) : maker_int(maker, i);
}

int main(int argc, char **argv)
{
	int32_t arg[64], out[16];
	int n = 0, nout = 0;
	bool result = false;
	const struct pte_value *returned;

	if (argc < 5)
		return bad("so few words");
	maker = maker_new();
	prefix = argv[1];
	for (int i = 3; i < argc && n < 60; i++) {
		if (!strcmp(argv[i], ">")) {
			result = true;
			continue;
		}
		arg[n++] = argument(argv[i], !result);
		if (result && nout < 16)
			out[nout++] = arg[n - 1];
	}
	arg[n] = nout == 1 ? out[0] : maker_list(maker, PTE_TENSOR_LIST, nout, out);
	returned = &maker->value.at[arg[n]];
	for (int i = 0; returned->tag == PTE_TENSOR_LIST && i < returned->index.n; i++)
		maker_out(maker, returned->index.at[i]);
	if (returned->tag == PTE_TENSOR)
		maker_out(maker, arg[n]);
	maker_call(maker, argv[2], n + 1, arg);
	maker_save(maker, arena_printf(&maker->mem, "%s.pte", prefix));
	maker_free(maker);
	return 0;
}
