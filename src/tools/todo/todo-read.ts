import * as z from "zod";
import { defineDataTool } from "../../catalog/tool.ts";
import { dataResult } from "../../catalog/tool-result.ts";
import { DEFAULT_SANDBOX, sandboxArgument } from "../sandbox-argument.ts";
import { loadTodos, TodoOutput } from "./todo-list.ts";

export const todoRead = defineDataTool({
  name: "todo_read",
  title: "Read the todo list",
  description: [
    "Returns your todo list for this sandbox: what is pending, in progress and completed. Empty when none was written.",
    "Read it when you come back to work that has several steps.",
  ].join("\n"),
  toolset: "todo",
  annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  input: z.strictObject({ sandbox: sandboxArgument(DEFAULT_SANDBOX) }),
  output: TodoOutput,
  async run(context, { sandbox: id }) {
    const todos = await loadTodos(await context.sandbox(id), context.principal, context.signal);
    return dataResult({ todos });
  },
});
