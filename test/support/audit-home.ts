import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { AuditedCall } from "../../src/audit/audit.ts";
import { createAuditLog } from "../../src/audit/audit-log.ts";
import type { AuditLog, AuditLogOptions } from "../../src/audit/audit-log.ts";
import { parseAuditLine } from "../../src/audit/audit-line.ts";
import type { AuditEntry } from "../../src/audit/audit-line.ts";
import { splitLines } from "../../src/audit/read-lines.ts";
import type { VerifiedAudit } from "../../src/audit/verify-audit.ts";
import { verifyAudit } from "../../src/audit/verify-audit.ts";

export const CALL: AuditedCall = {
  requestId: "r",
  principal: "local",
  tool: "echo",
  arguments: { a: 1 },
  outcome: "ok",
  resultBytes: 2,
  durationMs: 1.23456,
};

export const REFUSED = {
  sandbox: "s",
  owner: "local",
  via: "connect",
  host: "example.com",
  port: 443,
  verdict: "refused",
  reason: "no-rule",
};

/** A home with nothing but an audit; disposing it removes it. */
export interface AuditTestHome extends AsyncDisposable {
  readonly home: string;
  readonly segments: string;
  readonly index: string;
  open(options?: Partial<AuditLogOptions>): AuditLog;
  files(): Promise<readonly string[]>;
  /** Every line of every segment that tells of something that happened. */
  entries(): Promise<readonly AuditEntry[]>;
  verify(): Promise<VerifiedAudit>;
  /** Changes the bytes of the only segment, or of the one named. */
  edit(change: (text: string) => string, file?: string): Promise<void>;
}

export async function openAuditHome(parent = tmpdir()): Promise<AuditTestHome> {
  const home = await mkdtemp(join(parent, "belljar-audit-"));
  const segments = join(home, "audit");
  const files = async () => (await readdir(segments)).toSorted();
  return {
    home,
    segments,
    index: join(home, "audit-index"),
    open: (options = {}) => createAuditLog({ home, ...options }),
    files,
    async entries() {
      const contents = await Promise.all((await files()).map((file) => readFile(join(segments, file))));
      const all = contents.flatMap((bytes) => splitLines(bytes.subarray(0, bytes.lastIndexOf(0x0a) + 1))).map(parseAuditLine);
      return all.filter(({ kind }) => kind !== "segment" && kind !== "next");
    },
    verify: () => verifyAudit({ home }),
    async edit(change, file) {
      const path = join(segments, file ?? (await files())[0] ?? "");
      await writeFile(path, change(await readFile(path, "latin1")), "latin1");
    },
    [Symbol.asyncDispose]: () => rm(home, { recursive: true }),
  };
}
