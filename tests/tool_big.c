/* tool_big - writes a program that holds one linear of OUT x IN f32 weights, all zero, as a sparse file.
 *
 *   tool_big FILE OUT IN
 *
 * For trying how opening scales: 16384 x 32768 is 2 GiB. */
#include "core/format/pte.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static struct pte_tensor matrix(int rows, int cols, enum pte_storage storage, uint64_t offset)
{
	struct pte_tensor t = { .dtype = DTYPE_F32, .rank = 2, .size = { rows, cols }, .dim_order = { 0, 1 }, .storage = storage };

	if (storage == PTE_CONSTANT) {
		t.data_index = 1;
	} else {
		t.has_allocation = true;
		t.memory_id = 1;
		t.memory_offset = offset;
	}
	return t;
}

/* Holes for what is zero, so that the file takes no room. */
static bool write_sparse(const char *path, const struct pte_output *out)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	off_t at = 0;
	bool ok = fd >= 0;

	for (int i = 0; ok && i < out->npieces; at += (off_t)out->piece[i++].bytes)
		if (out->piece[i].bytes < 1 << 20)
			ok = pwrite(fd, out->piece[i].data, out->piece[i].bytes, at) == (ssize_t)out->piece[i].bytes;
	ok = ok && !ftruncate(fd, at);
	return fd >= 0 && !close(fd) && ok;
}

int main(int argc, char **argv)
{
	int rows = argc == 4 ? atoi(argv[2]) : 0, cols = argc == 4 ? atoi(argv[3]) : 0;
	size_t bytes = (size_t)rows * (size_t)cols * 4, in = ((size_t)cols * 4 + 15) / 16 * 16;
	struct pte_tensor weight = matrix(rows, cols, PTE_CONSTANT, 0), input = matrix(1, cols, PTE_PLANNED, 0);
	struct pte_tensor output = matrix(1, rows, PTE_PLANNED, in);
	struct pte_value value[] = {
		{ .tag = PTE_TENSOR, .tensor = &weight }, { .tag = PTE_TENSOR, .tensor = &input },
		{ .tag = PTE_NULL }, { .tag = PTE_TENSOR, .tensor = &output },
	};
	int32_t arg[] = { 1, 0, 2, 3, 3 }, inputs[] = { 1 }, outputs[] = { 3 };
	struct pte_instruction call = { .call = PTE_KERNEL, .arg = arg, .nargs = 5 };
	struct pte_chain chain = { &call, 1 };
	struct pte_operator op = { "aten::linear", "out" };
	int64_t arena[] = { 0, (int64_t)(in + (size_t)rows * 4) };
	struct pte_plan plan = {
		.name = "forward", .value = value, .nvalues = 4, .input = inputs, .ninputs = 1, .output = outputs, .noutputs = 1,
		.chain = &chain, .nchains = 1, .operator = &op, .noperators = 1, .buffer_bytes = arena, .nbuffers = 2,
	};
	struct span constant[] = { { 0 }, { NULL, bytes } };
	struct pte_image image = { .plan = &plan, .nplans = 1, .constant = constant, .nconstants = 2 };
	struct pte_output out;
	struct error err = { 0 };

	if (rows < 1 || cols < 1)
		return 2;
	constant[1].data = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (constant[1].data == MAP_FAILED || !pte_write(&out, &image, &err) || !write_sparse(argv[1], &out)) {
		fprintf(stderr, "tool_big: %s\n", err.text);
		return 1;
	}
	pte_output_free(&out);
	return 0;
}
