import { once } from "node:events";
import { existsSync } from "node:fs";
import { readFile, rename } from "node:fs/promises";
import { createServer, type Socket } from "node:net";
import { join } from "node:path";
import { encodeFields } from "../../src/protocol/fields.ts";
import { encodeFrame } from "../../src/protocol/frames.ts";
import { FRAME } from "../../src/protocol/wire.ts";
import { guestOf, keeperOf } from "./home-traces.ts";

/** The processes of one sandbox that the host speaks to. */
export interface Speakers {
  readonly guest: number;
  readonly keeper: number;
}

/** Of the sandbox of this folder. */
export function findSpeakers(folder: string): Speakers {
  const keeper = keeperOf(folder);
  return { keeper, guest: guestOf(keeper) };
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
const GOES_ON = encodeFrame(FRAME.EVENT, 0, encodeFields([]));
/** Well within what a silence may last in the tests. */
const DRIP_MS = 50;
const STARTED = encodeFrame(FRAME.STARTED, 0, encodeFields([["PID", 2]]));
const READY = encodeFrame(FRAME.DATA, 1, Buffer.from("ready\n"));

/** Says that the command runs, and what it printed first; then nothing more. */
export const startsAndStops: Lie = (stream) => void stream.write(Buffer.concat([STARTED, READY]));

/** Goes on without end, and never says what it was asked. */
export const drips: Lie = (stream) => {
  const drop = setInterval(() => stream.write(GOES_ON), DRIP_MS);
  stream.once("close", () => clearInterval(drop));
};

export const LIES = {
  "accepts and never answers": () => {},
  "answers half a frame and stops": (stream) => void stream.write(REPLY_HEADER_CUT),
  "says without end that it goes on": drips,
} as const satisfies Record<string, Lie>;

/** Stands a liar in the place of a sandbox's guest: all that connect from now on speak with it. */
export async function replaceGuest(sockets: string, lie: Lie): Promise<AsyncDisposable> {
  const path = join(sockets, "guest");
  const hidden = await hideSocket(path);
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
      await hidden[Symbol.asyncDispose]();
    },
  };
}

/** Takes a socket's name away until it is disposed: its listener lives, and nobody finds it. */
export async function hideSocket(path: string): Promise<AsyncDisposable> {
  await rename(path, `${path}.true`);
  return {
    async [Symbol.asyncDispose]() {
      if (existsSync(`${path}.true`)) await rename(`${path}.true`, path);
    },
  };
}
