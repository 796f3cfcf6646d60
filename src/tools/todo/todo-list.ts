import { createHash } from "node:crypto";
import * as z from "zod";
import { BelljarError } from "../../errors.ts";
import type { Principal, Sandbox } from "../../sandbox/sandbox.ts";

const TODOS_MAX = 200;
const CONTENT_MAX = 2_000;
const FILE_MAX_BYTES = 4 * 1_048_576;

const Todo = z.strictObject({
  id: z.string().min(1).max(100).describe("Unique in the list"),
  content: z.string().min(1).max(CONTENT_MAX).describe("What is to be done"),
  status: z.enum(["pending", "in_progress", "completed"]),
  priority: z.enum(["low", "medium", "high"]),
});

/** The whole list: ids are unique, and at most one entry is in progress. */
export const Todos = z
  .array(Todo)
  .max(TODOS_MAX)
  .superRefine((todos, context) => {
    const seen = new Set<string>();
    for (const [index, { id }] of todos.entries()) {
      if (seen.has(id)) context.addIssue({ code: "custom", path: [index, "id"], message: `"${id}" stands twice; ids must be unique` });
      seen.add(id);
    }
    const working = todos.filter(({ status }) => status === "in_progress").length;
    if (working > 1) context.addIssue({ code: "custom", message: `${working} entries are in_progress; at most one may be` });
  });

export type TodoEntry = z.output<typeof Todo>;

/** What both tools answer. */
export const TodoOutput = z.object({ todos: z.array(z.object(Todo.shape)) });

/** One list for each principal and sandbox. It lies in the sandbox and ends with it. */
function pathOf(principal: Principal): string {
  const owner = createHash("sha256").update(principal.id).digest("hex").slice(0, 16);
  return `/var/tmp/.belljar/todo/${owner}.json`;
}

/** Empty when none was written. What a program made of the file rejects with `FILE_NOT_TEXT`. */
export async function loadTodos(sandbox: Sandbox, principal: Principal, signal: AbortSignal): Promise<readonly TodoEntry[]> {
  try {
    return parse(await sandbox.guest.files.read(pathOf(principal), { maxBytes: FILE_MAX_BYTES, signal }));
  } catch (error) {
    if (error instanceof BelljarError && error.code === "FILE_NOT_FOUND") return [];
    throw error;
  }
}

export async function saveTodos(
  sandbox: Sandbox,
  principal: Principal,
  { todos, signal }: { readonly todos: readonly TodoEntry[]; readonly signal: AbortSignal },
): Promise<void> {
  await sandbox.guest.files.write(pathOf(principal), JSON.stringify(todos), { mode: 0o600, signal });
}

function parse(bytes: Buffer): readonly TodoEntry[] {
  const hint = "the todo list was changed by a program and cannot be read; write it anew with todo_write";
  try {
    const json: unknown = JSON.parse(bytes.toString());
    // A schema has something to say of each of a million entries.
    const parsed = Array.isArray(json) && json.length <= TODOS_MAX ? Todos.safeParse(json) : undefined;
    if (parsed?.success) return parsed.data;
  } catch (cause) {
    if (!(cause instanceof SyntaxError)) throw cause;
  }
  throw new BelljarError("FILE_NOT_TEXT", `In this sandbox ${hint}`);
}
