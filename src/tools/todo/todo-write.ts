import * as z from "zod";
import { defineDataTool } from "../../catalog/tool.ts";
import { dataResult } from "../../catalog/tool-result.ts";
import { DEFAULT_SANDBOX, sandboxArgument } from "../sandbox-argument.ts";
import { saveTodos, TodoOutput, Todos } from "./todo-list.ts";

export const todoWrite = defineDataTool({
  name: "todo_write",
  title: "Write the todo list",
  description: [
    "Replaces your todo list for this sandbox with the one that is given. Use it to plan work of several steps and to keep track of it:",
    "set one entry to in_progress when you begin it, and to completed as soon as it is done. At most one may be in_progress.",
    "The list stays as long as the sandbox does.",
  ].join("\n"),
  toolset: "todo",
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
  input: z.strictObject({ todos: Todos.describe("The whole new list, in order"), sandbox: sandboxArgument(DEFAULT_SANDBOX) }),
  output: TodoOutput,
  async run(context, { todos, sandbox: id }) {
    await saveTodos(await context.sandbox(id), context.principal, { todos, signal: context.signal });
    return dataResult({ todos });
  },
});
