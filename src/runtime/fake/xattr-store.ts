import { statSync } from "node:fs";

/** Node has no calls for extended attributes: a fake sandbox keeps them in memory, by file. */
export class XattrStore {
  readonly #files = new Map<string, Map<string, Buffer>>();

  of(host: Buffer): Map<string, Buffer> {
    const { ino, birthtimeNs } = statSync(host, { bigint: true });
    const key = `${ino}:${birthtimeNs}`;
    const found = this.#files.get(key) ?? new Map<string, Buffer>();
    this.#files.set(key, found);
    return found;
  }
}
