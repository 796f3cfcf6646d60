import { expect, it } from "vitest";
import { openToolCaller, textOf } from "../../../support/tool-caller.ts";
import { LOCAL } from "../../../../src/sandbox/sandbox.ts";

const signal = new AbortController().signal;
const todo = (id: string, status = "pending") => ({ id, content: `do ${id}`, status, priority: "high" });

it("gives back the list that was written, and an empty one before", async () => {
  await using tools = await openToolCaller();
  const empty = await tools.call("todo_read", {});
  expect(empty.value).toEqual({ todos: [] });
  expect(textOf(empty)).toBe('{"todos":[]}');
  const todos = [todo("1", "completed"), todo("2", "in_progress"), todo("3")];
  expect(await tools.call("todo_write", { todos })).toMatchObject({ value: { todos } });
  const result = await tools.call("todo_read", {});
  expect(result.value).toEqual({ todos });
  expect(textOf(result)).toBe(JSON.stringify({ todos }));
  await tools.call("todo_write", { todos: [] });
  expect(await tools.call("todo_read", {})).toMatchObject({ value: { todos: [] } });
});

it("keeps a list for each sandbox and each principal", async () => {
  await using tools = await openToolCaller();
  const other = await tools.sandboxes.create(LOCAL, {}, signal);
  await tools.call("todo_write", { todos: [todo("here")] });
  await tools.call("todo_write", { todos: [todo("there")], sandbox: other.id });
  expect(await tools.call("todo_read", { sandbox: other.id })).toMatchObject({ value: { todos: [todo("there")] } });
  const somebody = { id: "somebody", name: "somebody" };
  expect(await tools.catalog.call(somebody, "todo_read", {}, { signal })).toMatchObject({ value: { todos: [] } });
  expect(textOf(await tools.catalog.call(somebody, "todo_read", { sandbox: other.id }, { signal }))).toMatch(/^SANDBOX_NOT_FOUND: /);
});

it("tells of a list that a program changed", async () => {
  await using tools = await openToolCaller();
  await tools.call("todo_write", { todos: [todo("1")] });
  await tools.call("run_command", { command: "for list in ../../var/tmp/.belljar/todo/*.json; do echo '[{}]' > $list; done" });
  expect(textOf(await tools.call("todo_read", {}))).toMatch(/^FILE_NOT_TEXT: .*todo_write/);
});

it.each([
  [{}, "todos: "],
  [{ todos: [todo("1", "in_progress"), todo("2", "in_progress")] }, "todos: 2 entries are in_progress; at most one may be"],
  [{ todos: [todo("1"), todo("1")] }, 'todos.1.id: "1" stands twice'],
  [{ todos: [{ ...todo("1"), status: "done" }] }, "todos.0.status: "],
  [{ todos: [{ ...todo("1"), priority: undefined }] }, "todos.0.priority: "],
  [{ todos: [{ ...todo("1"), content: "" }] }, "todos.0.content: "],
  [{ todos: Array.from({ length: 201 }, (_, index) => todo(String(index))) }, "todos: "],
])("refuses %j", async (args, problem) => {
  await using tools = await openToolCaller();
  const result = await tools.call("todo_write", args);
  expect(result.isError).toBe(true);
  expect(textOf(result)).toContain(problem);
});
