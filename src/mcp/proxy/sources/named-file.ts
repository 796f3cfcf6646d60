import { Turns } from "../../../async/turns.ts";
import type { HubFile, HubServer } from "../hub-server.ts";
import { digestOf } from "../../../files/canonical.ts";
import { type FileApprovals, type FileRecord, toWaiting, withApproved } from "./file-approvals.ts";
import { changedSince } from "./pin-file.ts";
import { writtenFolders } from "./written-folders.ts";

export interface NamedFileOptions {
  /** As the command line names it. */
  readonly name: string;
  readonly approvals: FileApprovals;
  /** Whether a program in a sandbox may have written the file. `folders`: those that its own servers may write. */
  readonly isShown: (folders: readonly string[]) => Promise<boolean>;
  /** A text without the secrets that can be recognised in it. */
  readonly redact: (text: string) => string;
}

/**
 * The file of servers that the command line names. What it says counts as approved, as long as no program in a sandbox could write it: who named it
 * wrote it. A file that one could write once counts as such for good, and each of its servers waits unless exactly this one was approved, at the start
 * too: it may have been written while no Belljar was there to see it.
 */
export class NamedFile {
  readonly #options: NamedFileOptions;
  readonly #turns = new Turns();
  #content: HubFile = { servers: [], unusable: [] };

  constructor(options: NamedFileOptions) {
    this.#options = options;
  }

  get name(): string {
    return this.#options.name;
  }

  get content(): HubFile {
    return this.#content;
  }

  get names(): ReadonlySet<string> {
    return new Set(namesOf(this.#content));
  }

  waiting(name: string): HubServer | undefined {
    return this.#content.waiting?.find((one) => one.name === name);
  }

  /** Takes what the file says now. Rejects with `FILE_IO` if the home cannot be written; then what was known holds on. */
  async take(content: HubFile): Promise<void> {
    await this.#turns.run(async () => {
      const { approvals, isShown, redact } = this.#options;
      const isShownNow = await isShown(writtenFolders(content.servers));
      const running = new Set(this.#content.servers.map(digestOf));
      const record = await approvals.change((before) => {
        const kept = keep(before, content, isShownNow);
        const waiting = split(content, kept, running).waiting ?? [];
        return { ...kept, waiting: waiting.map((server) => toWaiting(server, redact)) };
      });
      this.#content = split(content, record, running);
    });
  }

  /** Calls back after another process may have approved something, until it is closed. */
  async watchApprovals(changed: () => void, failed: (cause: Error) => void): Promise<{ close(): void }> {
    return this.#options.approvals.watch(changed, failed);
  }

  /** Takes up what another process has approved. Whether that was anything of what waits here. */
  async takeApproved(): Promise<boolean> {
    return this.#turns.run(async () => {
      const { servers, waiting = [] } = this.#content;
      const next = split(
        { ...this.#content, servers: [...servers, ...waiting] },
        this.#options.approvals.read(),
        new Set(servers.map(digestOf)),
      );
      if (next.servers.length === servers.length) return false;
      this.#content = next;
      return true;
    });
  }

  /** Approves a server that waits, for this and every later process. Rejects with `MCP_SERVER_CHANGED` if it is not the one of the digest. */
  async approve(server: HubServer, digest: string | undefined): Promise<void> {
    const found = digestOf(server);
    if (digest !== undefined && digest !== found) throw changedSince(server.name);
    await this.#options.approvals.change((before) => withApproved(before, server.name, found));
    await this.takeApproved();
  }
}

/** What is approved once the file says this. A server that it does not name any more is not: whoever names it again may be another. */
function keep(before: FileRecord, content: HubFile, isShownNow: boolean): FileRecord {
  const wasShown = before.wasShown || isShownNow;
  const names = namesOf(content);
  const named = content.servers.map((server): [string, string] => [server.name, digestOf(server)]);
  return { ...before, wasShown, names, approved: wasShown ? before.approved.filter(([name]) => names.includes(name)) : named };
}

function split(content: HubFile, { approved }: FileRecord, running: ReadonlySet<string>): HubFile {
  const digests = new Map(approved);
  const isApproved = (server: HubServer): boolean => {
    const digest = digestOf(server);
    return digests.get(server.name) === digest || running.has(digest);
  };
  const { servers, unusable } = content;
  return { unusable, servers: servers.filter(isApproved), waiting: servers.filter((server) => !isApproved(server)) };
}

function namesOf({ servers, unusable, waiting = [] }: HubFile): readonly string[] {
  return [...servers, ...unusable, ...waiting].map(({ name }) => name);
}
