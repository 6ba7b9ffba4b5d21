/* SPDX-License-Identifier: MIT */
/* workspace.h: scratch memory of the calling thread, for what is too large for a stack. Callers may run on threads with
 * 128 KiB of it. */
#ifndef SPARC_BASE_WORKSPACE_H
#define SPARC_BASE_WORKSPACE_H

enum { WORKSPACE_BYTES = 320 << 10 };

/* thread_workspace returns WORKSPACE_BYTES on a cache line, the same block in every call of a thread. The first call
 * allocates it (of a team's members: when the team first runs), the end of the thread frees it. NULL: there is no
 * memory; the caller works without it. One function at a time may use it. */
void *thread_workspace(void);

#endif
