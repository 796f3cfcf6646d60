import { createHash, randomBytes } from "node:crypto";
import { mkdir } from "node:fs/promises";
import { BelljarError } from "../../../errors.ts";
import { errnoOf } from "../../../files/file-error.ts";
import { NumberedFile, watchNumberedFiles } from "../../../files/numbered-file.ts";
import { ensurePrivateFolder } from "../../../files/private-files.ts";
import { parseJson } from "../../../files/parse-json.ts";
import type { LoginRecord } from "./login-record.ts";
import { parseRecord } from "./login-record.ts";

/** Longest time of one renewal: its request has a shorter limit. */
const RENEWAL_MS = 30_000;

export interface StoreEars {
  readonly changed: () => void;
  readonly failed: (cause: Error) => void;
}

/**
 * The logins of one person at MCP servers: a file a server, which only this user may read. Any number of processes may use a folder. No
 * message and no name of a file has a token in it.
 */
export class LoginStore {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  async read(server: URL): Promise<LoginRecord> {
    return (await this.#file(server).read({ server: keyOf(server), logins: {} })).value;
  }

  /** Writes the result of `change`, or nothing if it is the same object. */
  async change(server: URL, change: (record: LoginRecord) => LoginRecord): Promise<LoginRecord> {
    const { value } = await this.#file(server).change({ server: keyOf(server), logins: {} }, change, () => "content");
    return value;
  }

  /** Forgets all of a server. */
  async remove(server: URL): Promise<void> {
    await this.#file(server).remove();
  }

  /** Calls back after this or another process has changed what is known of a server, until it is closed. */
  async watch(server: URL, { changed, failed }: StoreEars): Promise<{ close(): void }> {
    await ensurePrivateFolder(this.#folder);
    const name = nameOf(server);
    return watchNumberedFiles(this.#folder, { changed: (file) => void (file === name && changed()), failed });
  }

  /**
   * Runs one renewal of a server at a time, whichever processes ask. A refresh token that is used twice may end the login. Whoever waited
   * is given its turn too, and reads the record again to see what the others did. The turn of a process that has ended counts for nothing.
   */
  async renew<T>(server: URL, work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    const token = await this.#takeTurn(server, signal);
    try {
      return await work();
    } finally {
      await this.change(server, (now) => (now.renewal?.token === token ? withoutRenewal(now) : now));
    }
  }

  async #takeTurn(server: URL, signal: AbortSignal | undefined): Promise<string> {
    const mine = { by: process.pid, token: randomBytes(9).toString("base64url"), until: Date.now() + RENEWAL_MS };
    for (;;) {
      using changed = await this.#nextChange(server, signal);
      const { renewal } = await this.change(server, (now) =>
        now.renewal && isHeld(now.renewal) ? now : { ...now, renewal: { ...mine, until: Date.now() + RENEWAL_MS } },
      );
      if (renewal?.token === mine.token) return mine.token;
      await changed.wait((renewal?.until ?? 0) - Date.now());
      if (signal?.aborted) throw new BelljarError("CANCELLED", "Waiting for another login was cancelled");
    }
  }

  /** Listens from now on, so that no change is missed between a look and the wait for the next one. */
  async #nextChange(
    server: URL,
    signal: AbortSignal | undefined,
  ): Promise<Disposable & { readonly wait: (limitMs: number) => Promise<void> }> {
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    let timer: NodeJS.Timeout | undefined;
    let settle: () => void = () => undefined;
    const changed = new Promise<void>((resolve) => (settle = resolve));
    const name = nameOf(server);
    const watcher = watchNumberedFiles(this.#folder, { changed: (file) => file === name && settle(), failed: () => settle() });
    signal?.addEventListener("abort", settle, { once: true });
    if (signal?.aborted) settle();
    return {
      wait(limitMs) {
        timer = setTimeout(settle, Math.max(limitMs, 0));
        return changed;
      },
      [Symbol.dispose]() {
        clearTimeout(timer);
        signal?.removeEventListener("abort", settle);
        watcher.close();
      },
    };
  }

  #file(server: URL): NumberedFile<LoginRecord> {
    return new NumberedFile({
      folder: this.#folder,
      name: nameOf(server),
      title: `the login of ${server.origin}`,
      serialise: (record) => JSON.stringify({ version: 1, ...record }),
      parse: (content) => parseRecord(parseJson(content), keyOf(server)),
    });
  }
}

function withoutRenewal({ renewal: _renewal, ...record }: LoginRecord): LoginRecord {
  return record;
}

function isHeld({ by, until }: NonNullable<LoginRecord["renewal"]>): boolean {
  if (until <= Date.now() || until > Date.now() + 2 * RENEWAL_MS) return false;
  try {
    process.kill(by, 0);
    return true;
  } catch (cause) {
    // A process of another user lives too.
    return errnoOf(cause) === "EPERM";
  }
}

/** Servers are told apart by their whole address: the paths of one origin may belong to several people. */
function keyOf({ origin, pathname, search }: URL): string {
  return `${origin}${pathname}${search}`;
}

function nameOf(server: URL): string {
  return createHash("sha256").update(keyOf(server)).digest("hex").slice(0, 32);
}
