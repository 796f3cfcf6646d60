import type { OutgoingHttpHeaders } from "node:http";
import type { SecureContext } from "node:tls";
import { BelljarError } from "../../errors.ts";
import { toAuthority, toCanonicalHost } from "../host-name.ts";
import type { SecretUse, SecretUses } from "../policy.ts";
import type { SandboxAuthority, ServerCertificates } from "../tls/sandbox-authority.ts";
import { createServerCertificates } from "../tls/sandbox-authority.ts";
import type { HeadPart, Visit } from "./fill-head.ts";
import { fillHead } from "./fill-head.ts";
import { createPlaceholderWatch, findPlaceholder } from "./placeholder.ts";
import { createResponseMask } from "./response-mask.ts";
import type { FilledRequest, RequestHead, RequestTarget, SecretGuard } from "./secret-guard.ts";
import type { SecretStore } from "../../secrets/secret-store.ts";
import { parseSecretHost } from "./secret-uses.ts";

export interface SecretGuardOptions {
  /** The owner's id. */
  readonly owner: string;
  readonly uses: SecretUses;
  /** By the name of the variable, like `uses`. */
  readonly placeholders: Readonly<Record<string, string>>;
  readonly store: Pick<SecretStore, "reveal">;
  readonly authority: SandboxAuthority;
  /** Called with one sentence on why a secret cannot be used. Programs inside do not get it, because it describes the host. */
  readonly report?: (problem: string) => void;
}

/** Creates the guard of one sandbox. It caches no value: each request reads the store, so that changes apply at once. */
export function createSecretGuard(options: SecretGuardOptions): SecretGuard {
  return new SandboxGuard(options);
}

const STRANGE =
  "The request has a placeholder that is not of this sandbox, as in files of the sandbox that it was forked from. It stands for nothing here: use this sandbox's own variables";

/** One variable with its placeholder and its hosts. */
interface Entry {
  readonly variable: string;
  readonly use: SecretUse;
  readonly placeholder: string;
  readonly hosts: ReadonlySet<string>;
}

class SandboxGuard implements SecretGuard {
  readonly #options: SecretGuardOptions;
  readonly #entries: ReadonlyMap<string, Entry>;
  readonly #hosts: ReadonlySet<string>;
  readonly #placeholders: ReadonlySet<string>;
  #certificates: ServerCertificates | undefined;
  #reported: string | undefined;

  constructor(options: SecretGuardOptions) {
    const entries = Object.entries(options.uses).flatMap(([variable, use]) => toEntry(variable, use, options.placeholders[variable]));
    this.#options = options;
    this.#entries = new Map(entries.map((entry) => [entry.placeholder, entry]));
    this.#hosts = new Set(entries.flatMap(({ hosts }) => [...hosts]));
    this.#placeholders = new Set(this.#entries.keys());
  }

  terminates(host: string, port: number): boolean {
    return this.#hosts.has(toKey(host, port));
  }

  async certificateFor(host: string): Promise<SecureContext> {
    this.#certificates ??= createServerCertificates(this.#options.authority);
    return this.#certificates.contextFor(host);
  }

  hasPlaceholder(bytes: Buffer): boolean {
    return findPlaceholder(bytes, this.#placeholders) !== undefined;
  }

  async fillRequest(target: RequestTarget, head: RequestHead): Promise<FilledRequest> {
    const wanted = this.#wantedBy(target, head);
    const values = new Map(await Promise.all([...wanted].map(async (entry) => [entry.placeholder, await this.#reveal(entry)] as const)));
    const filled = fillHead(head, (found, place) => encode(values.get(found), place) ?? found);
    const requestBody = this.#bodyWatch(target);
    const known = [...values, ...(await this.#otherValues(target, wanted))].map(([placeholder, value]) => ({ placeholder, value }));
    if (known.length === 0) return { ...filled, ...(requestBody && { requestBody }) };
    const mask = createResponseMask(known);
    return { path: filled.path, headers: askReadable(filled.headers), ...(requestBody && { requestBody }), mask };
  }

  /** Returns the values that other requests may have sent to this host. The host may return them in a later answer. */
  async #otherValues(target: RequestTarget, wanted: ReadonlySet<Entry>): Promise<readonly (readonly [string, string])[]> {
    const others = [...this.#entries.values()].filter((entry) => !wanted.has(entry) && refusalOf(entry, target, "header") === undefined);
    const values = await Promise.all(others.map(async (entry) => [entry.placeholder, await this.#read(entry)] as const));
    return values.filter((row): row is readonly [string, string] => row[1] !== undefined);
  }

  /**
   * Returns the variables whose placeholders are in the head. Throws `FORBIDDEN` if one of them may not be sent there, and for another
   * sandbox's placeholder: a fork has the files of its parent, and the place that is asked would only answer that it does not know it.
   */
  #wantedBy(target: RequestTarget, head: RequestHead): ReadonlySet<Entry> {
    const wanted = new Set<Entry>();
    const visit: Visit = (found, place) => {
      const entry = this.#entries.get(found);
      if (!entry) throw new BelljarError("FORBIDDEN", STRANGE);
      assertMayGo(entry, target, place);
      wanted.add(entry);
      return found;
    };
    fillHead(head, visit);
    return wanted;
  }

  async #reveal(entry: Entry): Promise<string> {
    const value = await this.#read(entry);
    if (value !== undefined) return value;
    const { variable, use } = entry;
    const advice = `set it again with \`belljar secret set ${use.secret}\``;
    throw new BelljarError(
      "SECRET_NOT_FOUND",
      `The secret ${use.secret}, which ${variable} stands for, does not exist any more: ${advice}`,
    );
  }

  async #read({ variable, use: { secret } }: Entry): Promise<string | undefined> {
    try {
      return await this.#options.store.reveal(this.#options.owner, secret);
    } catch (cause) {
      if (!(cause instanceof BelljarError)) throw cause;
      this.#reportOnce(`The secret ${secret} cannot be used: ${cause.message}`);
      const advice = "the reason is reported to the person who runs Belljar";
      throw new BelljarError("SECRET_NOT_FOUND", `The secret ${secret}, which ${variable} stands for, cannot be read: ${advice}`, {
        cause,
      });
    }
  }

  /** Reports each problem once, so that a program that retries does not flood the log. */
  #reportOnce(problem: string): void {
    if (problem !== this.#reported) this.#options.report?.(problem);
    this.#reported = problem;
  }

  /** Bodies are never filled in, so a placeholder of this host may stand in one. Other placeholders break the body. */
  #bodyWatch(target: RequestTarget): FilledRequest["requestBody"] {
    const strange = [...this.#entries.values()].filter((entry) => refusalOf(entry, target, "header") !== undefined);
    if (strange.length === 0) return undefined;
    const wanted = new Set(strange.map(({ placeholder }) => placeholder));
    return () => createPlaceholderWatch(wanted, (found) => this.#refusal(found, target));
  }

  #refusal(placeholder: string, target: RequestTarget): BelljarError {
    const entry = this.#entries.get(placeholder);
    return new BelljarError("FORBIDDEN", (entry && refusalOf(entry, target, "header")) ?? "A placeholder may not be sent there");
  }
}

function toEntry(variable: string, use: SecretUse, placeholder: string | undefined): readonly Entry[] {
  if (placeholder === undefined) return [];
  const hosts = new Set(use.hosts.map(parseSecretHost).map(({ host, port }) => toKey(host, port)));
  return [{ variable, use, placeholder, hosts }];
}

function toKey(host: string, port: number): string {
  return toAuthority(toCanonicalHost(host) ?? host, port);
}

function assertMayGo(entry: Entry, target: RequestTarget, place: HeadPart): void {
  const refusal = refusalOf(entry, target, place);
  if (refusal !== undefined) throw new BelljarError("FORBIDDEN", refusal);
}

/** Returns why a value may not be sent there, or undefined if it may. It names only what the program knows: the variable and its hosts. */
function refusalOf({ variable, use, hosts }: Entry, { host, port, isEncrypted }: RequestTarget, place: HeadPart): string | undefined {
  const what = `The placeholder of ${variable}`;
  if (!hosts.has(toKey(host, port)))
    return `${what} may be sent only to ${use.hosts.join(", ")}, not to ${host.slice(0, 255)}:${port}: name that host in the sandbox's secrets, or leave the variable out of this request`;
  if (!isEncrypted) return `${what} is sent only over TLS: use https:// for ${host.slice(0, 255)}`;
  if (place === "fixed") return `${what} may not be in a header's name, or in a header that controls the connection`;
  return undefined;
}

/** Encodes a value: percent-encoded in the path and query, else one character for each byte, as Node writes headers. */
function encode(value: string | undefined, place: HeadPart): string | undefined {
  if (value === undefined) return undefined;
  return place === "path" ? encodeURIComponent(value) : Buffer.from(value).toString("latin1");
}

/** Headers that request partial or compressed answers. A partial answer could cut a value in two. A compressed one could not be masked. */
const FOR_PIECES = new Set(["range", "request-range", "x-ms-range", "if-range", "a-im", "sec-websocket-extensions"]);

function askReadable(headers: OutgoingHttpHeaders): OutgoingHttpHeaders {
  const rest = Object.entries(headers).filter(([name]) => !FOR_PIECES.has(name));
  return { ...Object.fromEntries(rest), "accept-encoding": "identity" };
}
