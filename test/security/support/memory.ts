import { open, readdir, readFile, readlink } from "node:fs/promises";

const CHUNK_BYTES = 1 << 20;

/** Host processes in the PID namespace that a sandbox sees as `pid:[...]`. */
export async function processesIn(namespace: string): Promise<readonly number[]> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const found = await Promise.all(
    pids.map(async (pid) => ((await readlink(`/proc/${pid}/ns/pid`).catch(() => "")) === namespace ? [Number(pid)] : [])),
  );
  return found.flat();
}

/** Those of `texts` that stand in the memory of a process, its environment and command line among it. */
export async function findInMemory(pid: number, texts: readonly string[]): Promise<ReadonlySet<string>> {
  const overlap = Math.max(...texts.map((text) => text.length));
  const found = new Set<string>();
  await using memory = await open(`/proc/${pid}/mem`, "r");
  for (const { start, end } of await readableParts(pid)) {
    for (let at = start; at < end; at += CHUNK_BYTES) {
      const bytes = Buffer.alloc(Math.min(CHUNK_BYTES + overlap, end - at));
      // Pages of a device or beyond a file's end cannot be read by anybody.
      const { bytesRead } = await memory.read(bytes, 0, bytes.length, at).catch(() => ({ bytesRead: 0 }));
      const seen = texts.filter((text) => bytes.subarray(0, bytesRead).includes(text));
      for (const text of seen) found.add(text);
    }
  }
  return found;
}

async function readableParts(pid: number): Promise<readonly { readonly start: number; readonly end: number }[]> {
  const rows = (await readFile(`/proc/${pid}/maps`, "utf8"))
    .split("\n")
    .filter((row) => / r\S+ /.test(row) && !/\[v(var|syscall)/.test(row));
  return rows.map((row) => {
    const [start = "0", end = "0"] = (row.split(" ", 1)[0] ?? "").split("-");
    return { start: Number.parseInt(start, 16), end: Number.parseInt(end, 16) };
  });
}
