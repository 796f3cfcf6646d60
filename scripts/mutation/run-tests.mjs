import { fork } from "node:child_process";
import { join } from "node:path";
import { cleanEnv } from "../lib.mjs";

/** A process of `test-process.mjs`, made when it is first asked and again after it was ended. One question at a time. */
export function openTestProcess(args) {
  let opened;
  return {
    /** Undefined when the time was over, or the process ended: it is killed then with all that it started. */
    async ask(work, limitMs) {
      // A process that was killed as it answered is not asked again.
      if ((await opened)?.isOver()) opened = undefined;
      opened ??= startProcess(args);
      const { child, next, kill } = await opened;
      const timer = setTimeout(() => kill(), limitMs);
      const answer = next();
      // A failure is heard as the end of the process.
      child.send(work, () => undefined);
      const given = await answer;
      clearTimeout(timer);
      if (given === undefined) {
        kill();
        opened = undefined;
      }
      return given;
    },
    async close() {
      (await opened)?.kill();
    },
  };
}

async function startProcess(args) {
  const child = fork(join(import.meta.dirname, "test-process.mjs"), args, {
    env: cleanEnv(),
    detached: true,
    stdio: ["ignore", "ignore", 2, "ipc"],
  });
  let settle = () => undefined;
  let isOver = false;
  child
    .on("message", (message) => settle(message))
    .once("exit", () => {
      isOver = true;
      settle(undefined);
    });
  const next = () => (isOver ? Promise.resolve(undefined) : new Promise((resolve) => (settle = resolve)));
  /** With its workers: one that loops hears of nothing. */
  const kill = () => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
    } catch (error) {
      if (error.code !== "ESRCH") throw error;
    }
  };
  await next();
  return { child, next, kill, isOver: () => isOver };
}
