import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { readdirSync } from "node:fs";
import { mkdir, rename, rm } from "node:fs/promises";
import { connect, createServer } from "node:net";
import type { AddressInfo, Server } from "node:net";
import { dirname, join } from "node:path";
import { errnoOf } from "../files/file-error.ts";

/** Prefix of a socket that is not a claim yet: its process does not listen on it, or was killed before it could rename it. */
const UNREADY = "new-";
/** An attempt fails only if another process removes the socket in the same instant. */
const CLAIM_ATTEMPTS = 8;

/** A port of this machine that belongs to Belljar until the claim is disposed. */
export interface ClaimedPort extends AsyncDisposable {
  readonly port: number;
}

/** The ports on which all Belljar processes of one socket folder listen. No sandbox may reach them. */
export interface OwnListeners {
  /** Claims a port. Call it before listening, so that no sandbox can connect before the claim. For port 0 it chooses a free port. */
  claim(wanted: { readonly host: string; readonly port: number }): Promise<ClaimedPort>;
  /** Returns true if a running process has claimed the port. Rejects if it cannot find out. */
  has(port: number): Promise<boolean>;
}

/**
 * A claim is a listening unix socket in the folder, with the port in its name. The kernel closes it when its process ends, for any reason.
 * A frozen process keeps its claims. Any process removes the socket file of a dead one.
 */
export function openOwnListeners(directory: string): OwnListeners {
  /** The claims of this process. They count even if somebody removes their files. */
  const own = new Set<string>();
  return {
    async claim({ host, port: wanted }) {
      const port = wanted === 0 ? await findFreePort(host) : wanted;
      const name = `${port}-${randomBytes(6).toString("hex")}`;
      await mkdir(directory, { recursive: true, mode: 0o700 });
      const server = await listenAt(join(directory, name));
      own.add(name);
      return {
        port,
        async [Symbol.asyncDispose]() {
          own.delete(name);
          const closed = once(server, "close");
          server.close();
          await closed;
          await rm(join(directory, name), { force: true });
        },
      };
    },
    async has(port) {
      const isThis = (name: string): boolean => name.startsWith(`${port}-`);
      if ([...own].some(isThis)) return true;
      const names = namesIn(directory);
      const held = await Promise.all(names.filter(isThis).map((name) => isHeld(join(directory, name))));
      await Promise.all(names.filter(isUnready).map((name) => isHeld(join(directory, name))));
      return held.includes(true);
    },
  };
}

const isUnready = (name: string): boolean => name.startsWith(UNREADY);

/**
 * Creates the socket under another name, and renames it once it listens: between `bind` and `listen`, connections are refused as if the
 * process were dead. Another process may remove the unready socket in this moment. Then it tries again.
 */
async function listenAt(path: string): Promise<Server> {
  for (let attempt = 1; ; attempt += 1) {
    const server = createServer((socket) => socket.destroy());
    const unready = join(dirname(path), `${UNREADY}${randomBytes(6).toString("hex")}`);
    server.listen({ path: unready });
    await once(server, "listening");
    server.unref();
    try {
      await rename(unready, path);
      return server;
    } catch (cause) {
      server.close();
      if ((cause as NodeJS.ErrnoException).code !== "ENOENT" || attempt === CLAIM_ATTEMPTS) throw cause;
    }
  }
}

/** Synchronous: a connection waits for it twice, and the way through the thread pool takes longer than the read. */
function namesIn(directory: string): readonly string[] {
  try {
    return readdirSync(directory);
  } catch (cause) {
    if (errnoOf(cause) === "ENOENT") return [];
    throw cause;
  }
}

/** Only a refused connection means a dead process. Other failures, such as a full queue, do not. */
async function isHeld(path: string): Promise<boolean> {
  const socket = connect({ path });
  try {
    await once(socket, "connect");
    return true;
  } catch (cause) {
    const code = errnoOf(cause);
    if (code === "ECONNREFUSED") await rm(path, { force: true });
    return code !== "ECONNREFUSED" && code !== "ENOENT";
  } finally {
    socket.destroy();
  }
}

async function findFreePort(host: string): Promise<number> {
  const server = createServer();
  server.listen({ host, port: 0 });
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const closed = once(server, "close");
  server.close();
  await closed;
  return port;
}
