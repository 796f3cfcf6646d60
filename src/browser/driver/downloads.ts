import { existsSync } from "node:fs";
import { mkdir, rename } from "node:fs/promises";
import { basename, extname, join } from "node:path";
import type { CDPSession, Download, Page } from "playwright-core";
import { toFailure } from "./driver-error.ts";
import type { BrowserFolders } from "./profile.ts";

export const DOWNLOAD_MAX_BYTES = 256 * 1_048_576;
const KEPT_MAX = 50;
const NAME_MAX = 100;
const NAMES_MAX = 1_000;

/** What became of one download. */
export interface DownloadState {
  readonly url: string;
  readonly name: string;
  /** `path` is where it lies, once it is whole. */
  state:
    | { readonly kind: "running" }
    | { readonly kind: "done"; readonly path: string }
    | { readonly kind: "failed"; readonly why: string };
}

interface Place {
  readonly page: Page;
  readonly folders: BrowserFolders;
  cdp(): Promise<CDPSession>;
}

/** The last downloads of a tab. Each that is whole lies in the user's folder of downloads; one that is too large is broken off. */
export class Downloads {
  readonly #place: Place;
  readonly #all: DownloadState[] = [];
  #isWatched = false;
  readonly #tooLarge = new Set<Download>();
  readonly #running = new Set<Download>();
  readonly #taking = new Set<Promise<void>>();

  constructor(place: Place) {
    this.#place = place;
    place.page.on("download", (download) => {
      const taking = this.#take(download).finally(() => this.#taking.delete(taking));
      this.#taking.add(taking);
    });
  }

  get all(): readonly DownloadState[] {
    return this.#all;
  }

  /** Resolves when those that run now have ended. */
  async settled(): Promise<void> {
    await Promise.all(this.#taking);
  }

  async #take(download: Download): Promise<void> {
    const entry: DownloadState = {
      url: download.url().slice(0, 2_000),
      name: safeName(download.suggestedFilename()),
      state: { kind: "running" },
    };
    this.#all.push(entry);
    if (this.#all.length > KEPT_MAX) this.#all.shift();
    this.#running.add(download);
    try {
      await this.#watch();
      const path = await keepDownload(download, this.#place.folders.downloads);
      entry.state = { kind: "done", path };
    } catch (error) {
      const isTooLarge = this.#tooLarge.delete(download);
      entry.state = { kind: "failed", why: isTooLarge ? `it is larger than ${DOWNLOAD_MAX_BYTES} bytes` : toFailure(error).message };
    } finally {
      this.#running.delete(download);
    }
  }

  async #watch(): Promise<void> {
    if (this.#isWatched) return;
    this.#isWatched = true;
    const cdp = await this.#place.cdp();
    const urls = new Map<string, string>();
    cdp.on("Page.downloadWillBegin", ({ guid, url }) => void urls.set(guid, url));
    cdp.on("Page.downloadProgress", ({ guid, receivedBytes, totalBytes, state }) => {
      if (state !== "inProgress") return void urls.delete(guid);
      if (Math.max(receivedBytes, totalBytes) > DOWNLOAD_MAX_BYTES) this.#breakOff(urls.get(guid));
    });
    await cdp.send("Page.enable");
  }

  /** All of its address, for nothing else tells them apart. Of one that began before it was watched nobody knows it; then all of the tab end. */
  #breakOff(url: string | undefined): void {
    for (const download of this.#running) {
      if (url !== undefined && download.url() !== url) continue;
      this.#tooLarge.add(download);
      void download.cancel().catch(() => undefined);
    }
  }
}

async function keepDownload(download: Download, folder: string): Promise<string> {
  const failure = await download.failure();
  if (failure !== null) throw new Error(failure);
  const from = await download.path();
  await mkdir(folder, { recursive: true });
  const to = freePath(folder, safeName(download.suggestedFilename()));
  await rename(from, to);
  return to;
}

function freePath(folder: string, name: string): string {
  for (let number = 1; number <= NAMES_MAX; number++) {
    const path = join(folder, number === 1 ? name : numbered(name, number));
    if (!existsSync(path)) return path;
  }
  throw new Error(`${folder} has ${NAMES_MAX} files called ${name}; remove some`);
}

/** Of one file in the folder, whatever a server says. */
function safeName(suggested: string): string {
  const name = basename(suggested)
    .replaceAll(/[\p{Cc}/\\]/gu, "_")
    .slice(-NAME_MAX);
  return name === "" || name.startsWith(".") ? `download${name}` : name;
}

function numbered(name: string, number: number): string {
  const extension = extname(name);
  return `${name.slice(0, name.length - extension.length)} (${number})${extension}`;
}
