import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdir, readdir, rename, rm } from "node:fs/promises";
import { connect, createServer } from "node:net";
import type { AddressInfo, Server } from "node:net";
import { dirname, join } from "node:path";
import { errnoOf } from "../files/file-error.ts";

/** A socket that its process does not listen on yet, or that was left by a process that was killed before it had a claim. */
const UNREADY = "new-";
/** Each further attempt needs another process that looks at the folder in the same instant. */
const CLAIM_ATTEMPTS = 8;

/** A port of this machine that is Belljar's until it is disposed. */
export interface ClaimedPort extends AsyncDisposable {
  readonly port: number;
}

/** The ports on which the Belljar processes of one socket folder listen: none of them is reached from a sandbox. */
export interface OwnListeners {
  /** To be called before the port is listened on, so that nobody can connect to one that is not known; for 0 a free one is chosen. */
  claim(wanted: { readonly host: string; readonly port: number }): Promise<ClaimedPort>;
  /** Whether a process that lives has claimed it. Rejects when that cannot be told. */
  has(port: number): Promise<boolean>;
}

/**
 * A claim is a unix socket in the folder, named by its port, that is listened on. The kernel closes it with its process, however that
 * ends; a process that is frozen still holds it. What is left of a dead one is taken away by whoever finds it.
 */
export function openOwnListeners(directory: string): OwnListeners {
  /** Of this process, which needs no folder to know them. */
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
      const names = await namesIn(directory);
      const held = await Promise.all(names.filter(isThis).map((name) => isHeld(join(directory, name))));
      await Promise.all(names.filter(isUnready).map((name) => isHeld(join(directory, name))));
      return held.includes(true);
    },
  };
}

const isUnready = (name: string): boolean => name.startsWith(UNREADY);

/**
 * The path appears only once the socket is listened on: between `bind` and `listen` a connection is refused as if its process were dead.
 * In that instant another process may take the unready socket away; then a new one is made.
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

async function namesIn(directory: string): Promise<readonly string[]> {
  try {
    return await readdir(directory);
  } catch (cause) {
    if (errnoOf(cause) === "ENOENT") return [];
    throw cause;
  }
}

/** Whatever else stands in the way, such as a full queue, is no sign of death. */
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
