import { randomBytes } from "node:crypto";
import { readdir, unlink } from "node:fs/promises";
import { join } from "node:path";
import * as z from "zod";
import { Turns } from "../async/turns.ts";
import { BelljarError } from "../errors.ts";
import { ifPresent } from "../files/file-error.ts";
import { parseJson } from "../files/parse-json.ts";
import { ensurePrivateFolder, readPrivateFile, removeFile, replacePrivateFile } from "../files/private-files.ts";
import type { CallApprovals, NamedCall, WaitingCall } from "./call-approvals.ts";
import { callDigest } from "./call-digest.ts";

/** So long a person has to decide. */
const WAITS_MS = 3_600_000;
/** So long an approved call has to be made. */
const HOLDS_MS = 600_000;
/** In one home. */
const WAITING_MAX = 100;
/** Of one principal, who leaves room for others. */
const WAITING_MAX_EACH = 20;
const SHOWN_MAX = 262_144;

const ID_BYTES = 8;
const DIGEST = /^[0-9a-f]{64}$/;
const waiting = z.object({ id: z.string(), principal: z.string(), tool: z.string(), shown: z.string(), until: z.number() });
const approved = z.object({ until: z.number() });

/** A call in the files. */
interface KeptCall extends WaitingCall {
  readonly digest: string;
}

/**
 * The approvals of a home, in files that this user alone reads: `<digest>.json` is a call that waits, and `<digest>.approved` says that it may be
 * made once. The digest alone decides which call that is. The short id is for people to type, and random: nobody can find another call that gets it.
 * Any number of processes share the files.
 */
export class StoredApprovals implements CallApprovals {
  readonly home: string;
  readonly #folder: string;
  readonly #now: () => number;
  readonly #turns = new Turns();

  constructor(home: string, now = Date.now) {
    this.home = home;
    this.#folder = join(home, "approvals");
    this.#now = now;
  }

  async take(call: NamedCall): Promise<boolean> {
    const digest = callDigest(call);
    const path = this.#path(digest, "approved");
    const { data } = approved.safeParse(parseJson((await readPrivateFile(path)) ?? ""));
    // By the system call alone: of several processes that ask for it, it is one that has removed the name.
    const isOurs = await ifPresent(
      path,
      unlink(path).then(() => true),
    );
    if (!isOurs) return false;
    await removeFile(this.#path(digest, "json"));
    return data !== undefined && data.until > this.#now();
  }

  async wait(call: NamedCall, shown: string): Promise<string> {
    if (shown.length > SHOWN_MAX)
      throw new BelljarError(
        "FORBIDDEN",
        `A person must approve this call, which is too long to be shown: it has over ${SHOWN_MAX} characters`,
      );
    return this.#turns.run(() => this.#keep(call, shown));
  }

  /** Those that wait, and those that are approved and not made yet. Removes those whose time is over. */
  async list(): Promise<readonly WaitingCall[]> {
    return (await this.#all()).map(({ digest: _digest, ...call }) => call);
  }

  /** Has the call succeed once, if it is made soon. Rejects with `APPROVAL_NOT_FOUND`. */
  async give(id: string): Promise<WaitingCall> {
    const { digest, ...call } = await this.#find(id);
    const until = this.#now() + HOLDS_MS;
    await replacePrivateFile(this.#path(digest, "approved"), JSON.stringify({ until }));
    return { ...call, until: new Date(until), isApproved: true };
  }

  /** The call waits no longer. Rejects with `APPROVAL_NOT_FOUND`. */
  async refuse(id: string): Promise<WaitingCall> {
    const { digest, ...call } = await this.#find(id);
    await this.#remove(digest);
    return call;
  }

  /** Rejects with `APPROVAL_NOT_FOUND`. */
  async get(id: string): Promise<WaitingCall> {
    const { digest: _digest, ...call } = await this.#find(id);
    return call;
  }

  async #keep(call: NamedCall, shown: string): Promise<string> {
    const digest = callDigest(call);
    await ensurePrivateFolder(this.#folder);
    const all = await this.#all();
    const others = all.filter((one) => one.digest !== digest);
    const { principal, tool } = call;
    if (others.length >= WAITING_MAX) throw tooMany(`${WAITING_MAX} calls`);
    if (others.filter((one) => one.principal === principal).length >= WAITING_MAX_EACH)
      throw tooMany(`${WAITING_MAX_EACH} calls of this caller`);
    const id = all.find((one) => one.digest === digest)?.id ?? randomBytes(ID_BYTES).toString("hex");
    await replacePrivateFile(this.#path(digest, "json"), JSON.stringify({ id, principal, tool, shown, until: this.#now() + WAITS_MS }));
    return id;
  }

  async #find(id: string): Promise<KeptCall> {
    const [found, ...others] = (await this.#all()).filter((one) => one.id === id);
    if (found && others.length === 0) return found;
    throw new BelljarError(
      "APPROVAL_NOT_FOUND",
      `No call ${JSON.stringify(id.slice(0, 40))} waits for a person: see \`belljar approval list\``,
    );
  }

  async #all(): Promise<readonly KeptCall[]> {
    const names = (await ifPresent(this.#folder, readdir(this.#folder))) ?? [];
    const digests = new Set(names.map((name) => name.split(".")[0] ?? "").filter((name) => DIGEST.test(name)));
    const found: KeptCall[] = [];
    for (const digest of digests) {
      const call = await this.#read(digest);
      if (call) found.push(call);
    }
    return found.toSorted((a, b) => a.until.getTime() - b.until.getTime());
  }

  async #read(digest: string): Promise<KeptCall | undefined> {
    const call = waiting.safeParse(parseJson((await readPrivateFile(this.#path(digest, "json"))) ?? "")).data;
    const held = approved.safeParse(parseJson((await readPrivateFile(this.#path(digest, "approved"))) ?? "")).data;
    const until = held?.until ?? call?.until ?? 0;
    if (call && until > this.#now()) {
      const { id, principal, tool, shown } = call;
      return { digest, id, principal, tool, shown, until: new Date(until), isApproved: held !== undefined };
    }
    await this.#remove(digest);
    return undefined;
  }

  async #remove(digest: string): Promise<void> {
    for (const kind of ["approved", "json"] as const) await removeFile(this.#path(digest, kind));
  }

  #path(digest: string, kind: "json" | "approved"): string {
    return join(this.#folder, `${digest}.${kind}`);
  }
}

function tooMany(what: string): BelljarError {
  return new BelljarError("QUOTA_EXCEEDED", `${what} wait for a person already: see them with \`belljar approval list\``);
}
