import { readdir, unlink } from "node:fs/promises";
import { join } from "node:path";
import * as z from "zod";
import { BelljarError } from "../errors.ts";
import { ifPresent } from "../files/file-error.ts";
import { parseJson } from "../files/parse-json.ts";
import { ensurePrivateFolder, readPrivateFile, removeFile, replacePrivateFile } from "../files/private-files.ts";
import type { CallApprovals, NamedCall, WaitingCall } from "./call-approvals.ts";
import { callId } from "./call-digest.ts";

/** So long a person has to decide. */
const WAITS_MS = 3_600_000;
/** So long an approved call has to be made. */
const HOLDS_MS = 600_000;
/** In one home. */
const WAITING_MAX = 100;
const SHOWN_MAX = 262_144;

const ID = /^[0-9a-f]{16}$/;
const waiting = z.object({ principal: z.string(), tool: z.string(), shown: z.string(), until: z.number() });
const approved = z.object({ until: z.number() });

/**
 * The approvals of a home, in files that this user alone reads: `<id>.json` is a call that waits, and `<id>.approved` says that it may be made
 * once. Any number of processes share them.
 */
export class StoredApprovals implements CallApprovals {
  readonly #folder: string;
  readonly #now: () => number;

  constructor(home: string, now = Date.now) {
    this.#folder = join(home, "approvals");
    this.#now = now;
  }

  async take(call: NamedCall): Promise<boolean> {
    const id = callId(call);
    const path = this.#path(id, "approved");
    const { data } = approved.safeParse(parseJson((await readPrivateFile(path)) ?? ""));
    // By the system call alone: of several processes that ask for it, it is one that has removed the name.
    const isOurs = await ifPresent(
      path,
      unlink(path).then(() => true),
    );
    if (!isOurs) return false;
    await removeFile(this.#path(id, "json"));
    return data !== undefined && data.until > this.#now();
  }

  async wait(call: NamedCall, shown: string): Promise<string> {
    if (shown.length > SHOWN_MAX)
      throw new BelljarError(
        "FORBIDDEN",
        `A person must approve this call, which is too long to be shown: it has over ${SHOWN_MAX} characters`,
      );
    const id = callId(call);
    await ensurePrivateFolder(this.#folder);
    const others = (await this.list()).filter((one) => one.id !== id);
    if (others.length >= WAITING_MAX)
      throw new BelljarError("QUOTA_EXCEEDED", `${WAITING_MAX} calls wait for a person already: see them with \`belljar approval list\``);
    const { principal, tool } = call;
    await replacePrivateFile(this.#path(id, "json"), JSON.stringify({ principal, tool, shown, until: this.#now() + WAITS_MS }));
    return id;
  }

  /** Those that wait, and those that are approved and not made yet. Removes those whose time is over. */
  async list(): Promise<readonly WaitingCall[]> {
    const names = (await ifPresent(this.#folder, readdir(this.#folder))) ?? [];
    const ids = new Set(names.map((name) => name.split(".")[0] ?? "").filter((id) => ID.test(id)));
    const found: WaitingCall[] = [];
    for (const id of ids) {
      const call = await this.#read(id);
      if (call) found.push(call);
    }
    return found.toSorted((a, b) => a.until.getTime() - b.until.getTime());
  }

  /** Has the call succeed once, if it is made soon. Rejects with `APPROVAL_NOT_FOUND`. */
  async give(id: string): Promise<WaitingCall> {
    const call = await this.get(id);
    const until = this.#now() + HOLDS_MS;
    await replacePrivateFile(this.#path(id, "approved"), JSON.stringify({ until }));
    return { ...call, until: new Date(until), isApproved: true };
  }

  /** The call waits no longer. Rejects with `APPROVAL_NOT_FOUND`. */
  async refuse(id: string): Promise<WaitingCall> {
    const call = await this.get(id);
    await this.#remove(id);
    return call;
  }

  /** Rejects with `APPROVAL_NOT_FOUND`. */
  async get(id: string): Promise<WaitingCall> {
    const call = ID.test(id) ? await this.#read(id) : undefined;
    if (call) return call;
    throw new BelljarError(
      "APPROVAL_NOT_FOUND",
      `No call ${JSON.stringify(id.slice(0, 40))} waits for a person: see \`belljar approval list\``,
    );
  }

  async #read(id: string): Promise<WaitingCall | undefined> {
    const call = waiting.safeParse(parseJson((await readPrivateFile(this.#path(id, "json"))) ?? "")).data;
    const held = approved.safeParse(parseJson((await readPrivateFile(this.#path(id, "approved"))) ?? "")).data;
    const until = held?.until ?? call?.until ?? 0;
    if (call && until > this.#now()) {
      const { principal, tool, shown } = call;
      return { id, principal, tool, shown, until: new Date(until), isApproved: held !== undefined };
    }
    await this.#remove(id);
    return undefined;
  }

  async #remove(id: string): Promise<void> {
    for (const kind of ["approved", "json"] as const) await removeFile(this.#path(id, kind));
  }

  #path(id: string, kind: "json" | "approved"): string {
    return join(this.#folder, `${id}.${kind}`);
  }
}
