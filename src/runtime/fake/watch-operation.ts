import { type FSWatcher, lstatSync, readdirSync, statSync, watch } from "node:fs";
import { encodeFields } from "../../protocol/fields.ts";
import { EVENT_KIND, FLAG, FRAME } from "../../protocol/wire.ts";
import { join, type FileRequest } from "./file-operations.ts";

/** Watches until the host goes. A rename is a removal and a creation here. */
export async function serveWatch(request: FileRequest): Promise<void> {
  const { peer, host, flags } = request;
  const tree = new WatchedTree(request, (flags & FLAG.RECURSIVE) !== 0);
  peer.onGone(() => tree.close());
  tree.add(host, Buffer.alloc(0));
  peer.send(FRAME.REPLY, 0);
}

class WatchedTree {
  readonly #request: FileRequest;
  readonly #recursive: boolean;
  readonly #watchers = new Map<string, FSWatcher>();
  /** What is known to be there: an entry that came and went before it could be looked at is told as both. */
  readonly #present = new Set<string>();

  constructor(request: FileRequest, recursive: boolean) {
    this.#request = request;
    this.#recursive = recursive;
  }

  /** `path` is relative to the watched one, and empty for itself. */
  add(host: Buffer, path: Buffer): void {
    const isFolder = statSync(host).isDirectory();
    const watcher = watch(host, { encoding: "buffer" });
    this.#watchers.set(path.toString("latin1"), watcher);
    watcher.on("change", (event, name) => {
      if (isFolder) this.#changed(event, join(host, name as Buffer), child(path, name as Buffer));
      else this.#changed(event, host, path);
    });
    watcher.on("error", (error) => this.#request.peer.fail(error));
    if (!isFolder) return;
    for (const entry of readdirSync(host, { encoding: "buffer", withFileTypes: true })) {
      const name = entry.name;
      this.#present.add(child(path, name).toString("latin1"));
      if (this.#recursive && entry.isDirectory()) this.add(join(host, name), child(path, name));
    }
  }

  #changed(event: string, host: Buffer, path: Buffer): void {
    if (event === "change") return this.#tell(EVENT_KIND.WRITE, path);
    const stats = lstatSync(host, { throwIfNoEntry: false });
    const wasPresent = this.#present.has(path.toString("latin1"));
    if (!stats && wasPresent) return this.#removed(path);
    this.#tell(EVENT_KIND.CREATE, path);
    this.#present.add(path.toString("latin1"));
    if (!stats) return undefined;
    if (stats.isDirectory() && this.#recursive && path.length > 0) this.#addNew(host, path);
    return undefined;
  }

  #removed(path: Buffer): void {
    this.#watchers.get(path.toString("latin1"))?.close();
    this.#watchers.delete(path.toString("latin1"));
    this.#present.delete(path.toString("latin1"));
    this.#tell(EVENT_KIND.REMOVE, path);
  }

  /** What was made in a new folder before it was watched is told too. */
  #addNew(host: Buffer, path: Buffer): void {
    if (this.#watchers.has(path.toString("latin1"))) return;
    this.add(host, path);
    this.#tellBelow(host, path);
  }

  #tellBelow(host: Buffer, path: Buffer): void {
    for (const entry of readdirSync(host, { encoding: "buffer", withFileTypes: true })) {
      const name = entry.name;
      this.#tell(EVENT_KIND.CREATE, child(path, name));
      if (entry.isDirectory()) this.#tellBelow(join(host, name), child(path, name));
    }
  }

  #tell(kind: number, path: Buffer): void {
    this.#request.peer.send(
      FRAME.EVENT,
      0,
      encodeFields([
        ["KIND", kind],
        ["PATH", path],
      ]),
    );
  }

  close(): void {
    for (const watcher of this.#watchers.values()) watcher.close();
  }
}

function child(path: Buffer, name: Buffer): Buffer {
  return path.length === 0 ? name : join(path, name);
}
