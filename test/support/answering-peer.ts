import { once } from "node:events";
import { createServer, type Server, type Socket } from "node:net";
import type { Fields } from "../../src/protocol/fields.ts";
import { HeadDecoder } from "../../src/protocol/head.ts";
import { OPERATION } from "../../src/protocol/wire.ts";

type OperationName = keyof typeof OPERATION;

const NAMES = Object.keys(OPERATION) as OperationName[];

function nameOf(number: number): OperationName {
  const name = NAMES.find((one) => OPERATION[one] === number);
  if (name === undefined) throw new TypeError(`No operation has the number ${number}`);
  return name;
}

/** What a keeper or a guest says to a request: a frame, or nothing, so that it waits. It may do something first. */
export type Answers = Partial<Record<OperationName, () => Buffer | undefined>>;

/** Plays a keeper or a guest on a unix socket. */
export interface Peer {
  readonly asked: readonly { readonly operation: OperationName; readonly fields: Fields }[];
  /** Resolves when something asks for this, or has asked for it. */
  heard(operation: OperationName): Promise<void>;
  /** Resolves when a caller has hung up. */
  readonly hungUp: Promise<void>;
  close(): Promise<void>;
}

/** Serves `path` with `answers`. Whoever opens it closes it. */
export async function openPeer(path: string, answers: Answers): Promise<Peer> {
  const asked: Peer["asked"][number][] = [];
  const sockets = new Set<Socket>();
  const listeners = new Set<() => void>();
  let hangUp = (): void => undefined;
  const hungUp = new Promise<void>((resolve) => (hangUp = resolve));
  const server: Server = createServer((socket) => {
    const decoder = new HeadDecoder();
    sockets.add(socket.on("error", () => undefined).on("close", hangUp));
    socket.on("data", (chunk: Buffer) => {
      const whole = decoder.push(chunk);
      if (!whole) return;
      const operation = nameOf(whole.head.operation);
      asked.push({ operation, fields: whole.head.fields });
      for (const look of listeners) look();
      const answer = answers[operation]?.();
      if (answer) socket.write(answer);
    });
  });
  await once(server.listen(path), "listening");
  return {
    asked,
    hungUp,
    heard: (operation) =>
      new Promise((resolve) => {
        const look = (): void => {
          if (asked.some((one) => one.operation === operation)) resolve();
        };
        listeners.add(look);
        look();
      }),
    async close() {
      for (const socket of sockets) socket.destroy();
      if (server.listening) await new Promise((resolve) => server.close(resolve));
    },
  };
}
