import { once } from "node:events";
import { WebSocket as WebSocketClient } from "ws";

/** A client of VNC over a WebSocket, which sends whatever it likes. Disposing it closes it. */
export interface RfbWatcher extends Disposable {
  /** The size of the screen. */
  readonly size: readonly [width: number, height: number];
  move(x: number, y: number, buttons?: number): void;
  press(keysym: number): void;
  cutText(text: string): void;
  /** Any other message, as it is. */
  send(bytes: readonly number[]): void;
  /** Resolves once the server has read all that was sent before. */
  settled(): Promise<void>;
}

const NO_SECURITY = 1;
const SERVER_INIT_BYTES = 24;

/** Rejects if it is refused. */
export async function watchRfb(url: string, headers: Readonly<Record<string, string>> = {}): Promise<RfbWatcher> {
  const socket = new WebSocketClient(url, ["binary"], { headers });
  const read = reader(socket);
  await once(socket, "open");
  socket.send(await read(12));
  const [count = 0] = await read(1);
  await read(count);
  socket.send(Buffer.of(NO_SECURITY));
  if ((await read(4)).readUInt32BE() !== 0) throw new Error("refused by VNC");
  socket.send(Buffer.of(1));
  const init = await read(SERVER_INIT_BYTES);
  await read(init.readUInt32BE(20));
  const size = [init.readUInt16BE(0), init.readUInt16BE(2)] as const;
  socket.send(Buffer.from([2, 0, 0, 1, 0, 0, 0, 0])); // pixels as they are
  return {
    size,
    move: (x, y, buttons = 0) => socket.send(Buffer.from([5, buttons, x >> 8, x & 255, y >> 8, y & 255])),
    press: (keysym) => {
      for (const down of [1, 0]) socket.send(Buffer.from([4, down, 0, 0, 0, 0, keysym >> 8, keysym & 255]));
    },
    cutText: (text) => socket.send(Buffer.concat([Buffer.from([6, 0, 0, 0, 0, 0, 0, text.length]), Buffer.from(text)])),
    send: (bytes) => socket.send(Buffer.from(bytes)),
    async settled() {
      socket.send(Buffer.from([3, 0, 0, 0, 0, 0, 0, 1, 0, 1])); // one pixel, changed or not
      await read(1);
    },
    [Symbol.dispose]: () => socket.terminate(),
  };
}

/** Whatever comes, in the pieces that are asked for. What is left over is dropped by the next question for a picture. */
function reader(socket: WebSocketClient): (bytes: number) => Promise<Buffer> {
  let held = Buffer.alloc(0);
  let wake = (): void => undefined;
  let problem: Error | undefined;
  socket.on("message", (data: Buffer) => {
    held = Buffer.concat([held, data]);
    wake();
  });
  const fail = (error: Error): void => {
    problem = error;
    wake();
  };
  socket.on("error", fail);
  socket.on("close", (code) => fail(new Error(`closed with ${code}`)));
  return async (bytes) => {
    while (held.length < bytes) {
      if (problem) throw problem;
      await new Promise<void>((resolve) => (wake = resolve));
    }
    const taken = held.subarray(0, bytes);
    held = held.subarray(bytes);
    return taken;
  };
}
