import { expect, it } from "vitest";
import type { Sandbox } from "../../sandbox/sandbox.ts";
import { createFileChanger } from "./file-changer.ts";

const sandbox = { id: "a" } as Sandbox;
const other = { id: "b" } as Sandbox;
const signal = new AbortController().signal;

function gate() {
  let open = (): void => undefined;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { open: () => open(), opened };
}

it("lets calls on one sandbox take turns, and those on others go on", async () => {
  const changer = createFileChanger();
  const { open, opened } = gate();
  const seen: string[] = [];
  const first = changer.alone(sandbox, signal, async () => {
    await opened;
    seen.push("first");
  });
  const second = changer.alone(sandbox, signal, async () => void seen.push("second"));
  await changer.alone(other, signal, async () => void seen.push("other"));
  open();
  await Promise.all([first, second]);
  expect(seen).toEqual(["other", "first", "second"]);
});

it("goes on after a call that failed", async () => {
  const changer = createFileChanger();
  const failed = changer.alone(sandbox, signal, () => Promise.reject(new TypeError("failed")));
  const next = changer.alone(sandbox, signal, async () => "done");
  await expect(failed).rejects.toThrow("failed");
  expect(await next).toBe("done");
});

it("lets a call that is cancelled stop waiting, and the next one not pass the first", async () => {
  const changer = createFileChanger();
  const { open, opened } = gate();
  const controller = new AbortController();
  const seen: string[] = [];
  const first = changer.alone(sandbox, signal, async () => {
    await opened;
    seen.push("first");
  });
  const cancelled = changer.alone(sandbox, controller.signal, async () => void seen.push("cancelled"));
  const third = changer.alone(sandbox, signal, async () => void seen.push("third"));
  controller.abort();
  await expect(cancelled).rejects.toThrow("aborted");
  open();
  await Promise.all([first, third]);
  expect(seen).toEqual(["first", "third"]);
});
