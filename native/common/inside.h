/* What every sandbox shows inside. test/pins/inside.test.ts holds it to src/protocol/inside.ts, which describes the fields. */
#ifndef BELLJAR_INSIDE_H
#define BELLJAR_INSIDE_H

#define INSIDE_USER "user"
#define INSIDE_USER_ID 1000u
#define INSIDE_USER_HOME "/home/user"
#define INSIDE_WORKSPACE "/workspace"
#define INSIDE_ROOT "root"
#define INSIDE_ROOT_ID 0u
#define INSIDE_ROOT_HOME "/root"

#endif
