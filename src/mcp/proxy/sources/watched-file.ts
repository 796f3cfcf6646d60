import { realpath } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { BelljarError } from "../../../errors.ts";
import { Turns } from "../../../async/turns.ts";
import { watchFolder } from "../../../files/watch-folder.ts";

/** An editor writes a file in several steps. */
const SETTLE_MS = 100;

export interface WatchedFileOptions<Content> {
  /** It need not exist at every moment: editors put another one in its place. */
  readonly file: string;
  /** Rejects with `CONFIG_INVALID` for a file that cannot be used. */
  readonly load: () => Promise<Content>;
  /** Is given the content after each change. */
  readonly changed: (content: Content) => void | Promise<void>;
  readonly report: (problem: string) => void;
}

/** Reads a file again whenever it changes, until it is disposed. One that cannot be used is told, and what was read before holds. */
export async function watchFile<Content>(options: WatchedFileOptions<Content>): Promise<AsyncDisposable> {
  const { file, report } = options;
  const turns = new Turns();
  let timer: NodeJS.Timeout | undefined;
  let told: string | undefined;
  const read = async (): Promise<void> => {
    try {
      await options.changed(await options.load());
      told = undefined;
    } catch (cause) {
      if (!(cause instanceof BelljarError)) throw cause;
      if (cause.message !== told) report(`${cause.message}. What the file said before holds on`);
      told = cause.message;
    }
  };
  const noticed = (): void => {
    clearTimeout(timer);
    timer = setTimeout(() => void turns.run(read).catch((cause: unknown) => report(String(cause))), SETTLE_MS);
    timer.unref();
  };
  const failed = (cause: unknown): void => report(`Changes of ${file} are not noticed: ${String(cause)}`);
  const watchers = await watchPlaces(file, noticed, failed);
  // It may have changed since whoever watches it has read it.
  noticed();
  return {
    async [Symbol.asyncDispose]() {
      for (const watcher of watchers) watcher.close();
      clearTimeout(timer);
      await turns.run(async () => undefined);
    },
  };
}

/** The file may be a link: whichever of both is replaced is a change. */
async function watchPlaces(file: string, noticed: () => void, failed: (cause: unknown) => void): Promise<readonly { close(): void }[]> {
  const path = resolve(file);
  const real = await realpath(path).catch(() => path);
  const places = new Set([path, join(await realpath(dirname(path)).catch(() => dirname(path)), basename(path)), real]);
  return [...places].flatMap((place) => {
    const changed = (name: string): void => void (name === basename(place) && noticed());
    try {
      return [watchFolder(dirname(place), { changed, failed })];
    } catch (cause) {
      failed(cause);
      return [];
    }
  });
}
