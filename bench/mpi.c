// SPDX-License-Identifier: GPL-2.0-only
/*
 * mpi.c - the loops by MPI: mpirun -np 2 dd-mpi lat|bw SIZE...
 *
 * Copyright (C) 2026 The dd authors
 */
#include <mpi.h>

#include "loop.h"

void put(char *buffer, int size)
{
	MPI_Send(buffer, size, MPI_BYTE, !rank, 0, MPI_COMM_WORLD);
}

void get(char *buffer, int size)
{
	MPI_Recv(buffer, size, MPI_BYTE, !rank, 0, MPI_COMM_WORLD,
		 MPI_STATUS_IGNORE);
}

/* MPI_Send() returns when they may. */
void settle(void)
{
}

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	loop_pin();
	if (argc > 2)
		loop_run(argv[1], argv + 2);
	MPI_Finalize();
	return argc > 2 ? 0 : 2;
}
