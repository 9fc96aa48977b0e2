#include <stdio.h>

int main(void)
{
	puts("etinspect");
	return 0;
}
