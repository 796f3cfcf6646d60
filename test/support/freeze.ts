import { once } from "node:events";
import { existsSync } from "node:fs";
import { readFile, rename } from "node:fs/promises";
import { createServer, type Socket } from "node:net";
import { join } from "node:path";
import { newMark, processesOf, statusOf } from "../security/support/outside.ts";
import type { Guest } from "../../src/runtime/guest/guest.ts";

/** The processes of one sandbox that the host speaks to. */
export interface Speakers {
  readonly guest: number;
  readonly keeper: number;
}

/** The guest is the first process of its PID namespace, and its parent is the keeper. */
export async function findSpeakers(guest: Guest): Promise<Speakers> {
  const mark = newMark();
  const signal = AbortSignal.timeout(20_000);
  await using command = await guest.exec({ argv: ["sleep", mark], stdin: false, signal });
  const [marked = 0] = await processesOf(mark);
  let pid = marked;
  while (pid > 1 && !/\s1$/.test(await statusOf(pid, "NSpid"))) pid = Number(await statusOf(pid, "PPid"));
  if (pid <= 1) throw new Error(`no guest is above process ${marked}`);
  command.kill(9);
  await command.exited;
  return { guest: pid, keeper: Number(await statusOf(pid, "PPid")) };
}

/** Stops a process from outside until it is disposed, as a debugger, a freezer or a busy host would. */
export async function freeze(pid: number): Promise<AsyncDisposable> {
  process.kill(pid, "SIGSTOP");
  while (!/^State:\s+T/m.test(await readFile(`/proc/${pid}/status`, "utf8"))) continue;
  return {
    async [Symbol.asyncDispose]() {
      try {
        process.kill(pid, "SIGCONT");
      } catch {
        // It was killed meanwhile.
      }
    },
  };
}

/** What a guest that was taken over does with a stream. */
export type Lie = (stream: Socket) => void;

const REPLY_HEADER_CUT = Buffer.from([8, 0, 0, 0, 0, 0]);

export const LIES = {
  "accepts and never answers": () => {},
  "answers half a frame and stops": (stream) => void stream.write(REPLY_HEADER_CUT),
} as const satisfies Record<string, Lie>;

/** Stands a liar in the place of a sandbox's guest: all that connect from now on speak with it. */
export async function replaceGuest(sockets: string, lie: Lie): Promise<AsyncDisposable> {
  const path = join(sockets, "guest");
  await rename(path, `${path}.true`);
  const open = new Set<Socket>();
  const server = createServer((stream) => {
    open.add(stream);
    stream.on("error", () => stream.destroy());
    stream.once("close", () => open.delete(stream));
    stream.once("data", () => lie(stream));
  }).listen(path);
  await once(server, "listening");
  return {
    async [Symbol.asyncDispose]() {
      for (const stream of open) stream.destroy();
      server.close();
      await once(server, "close");
      if (existsSync(`${path}.true`)) await rename(`${path}.true`, path);
    },
  };
}
